//go:build !race

package sim

// fewSeeds are run by default.
const fewSeeds = 8
