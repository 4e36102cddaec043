//go:build !race

package sim

// raced: the race detector makes worlds ten times as slow.
const raced = false
