//go:build race

package main

// With -race, the packages that the tests import are compiled as scripts/test.sh compiles them, and
// not once more.
func init() {
	listFlags = []string{"-race", "-gcflags=go/...=-race=false", "-gcflags=github.com/yuin/gopher-lua/...=-race=false"}
}
