// Package verdict judges how endpoints did under open loops, and finds what holds:
// the highest rate, and the fewest connections. It measures nothing.
package verdict
