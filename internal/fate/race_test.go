//go:build race

package fate_test

// raced: the race detector makes probes three times as slow.
const raced = true
