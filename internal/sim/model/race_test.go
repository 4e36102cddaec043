//go:build race

package model

// raced: the race detector makes comparisons twice as slow.
const raced = true
