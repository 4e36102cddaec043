//go:build !race

package limiter

// raced: the race detector makes worlds ten times as slow.
const raced = false
