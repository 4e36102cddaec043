// Package plot draws what a report holds: percentile curves, throughput, and
// both over a setting that was varied. It measures and computes nothing.
package plot
