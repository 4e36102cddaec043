// Package stats describes latencies by their moments and percentiles, and tells
// whether two endpoints differ.
package stats
