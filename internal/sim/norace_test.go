//go:build !race

package sim

// fewSeeds are run by default.
const fewSeeds = 8

// raced: the race detector makes worlds ten times as slow.
const raced = false
