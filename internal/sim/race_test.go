//go:build race

package sim

// fewSeeds are run by default; with the race detector each takes much longer.
const fewSeeds = 3

// raced: the race detector makes worlds ten times as slow.
const raced = true
