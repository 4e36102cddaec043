// Package load measures: it starts clusters, or finds one, puts networks before
// them, and lets callers send the requests of a scenario, in a closed loop or at
// a constant rate.
//
// It decides nothing about which measurements are made, and prints nothing.
package load
