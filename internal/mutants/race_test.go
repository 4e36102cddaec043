//go:build race

package main

// With -race, the packages that the tests import are compiled with -race, too, and are not
// compiled again without it.
func init() { listFlags = []string{"-race"} }
