//go:build !race

package quota_test

// raced: the race detector makes worlds ten times as slow.
const raced = false
