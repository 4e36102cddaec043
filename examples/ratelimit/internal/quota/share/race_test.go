//go:build race

package share_test

// raced: the race detector makes worlds ten times as slow, and finds nothing in them: they have one goroutine.
const raced = true
