package sizing

import "math"

// RecommendedSize returns how many connections a pool.Fixed pool needs for the
// given number of concurrent callers, each of which sends so many pipelines
// (one for each node that a request touches) at a time. Efficiency, usually 2
// to 3, says how many callers one connection serves because they do not all
// wait for Redis at the same moment. The formula is callers × pipelines ÷
// efficiency, rounded up; at least 1 and at most 2³¹ − 1. Values that are not
// positive count as 1.
//
// It is a rule of thumb of practitioners, not a law: it does not know how long
// a trip takes. [ExpectedWait] and [ClosedThroughput] do. The pool is that of one
// node; with commands grouped by node, as they are by default, a request has one
// pipeline for it, and more connections than callers are never in use.
func RecommendedSize(callers, pipelines int, efficiency float64) int {
	if !(efficiency > 0) {
		efficiency = 1
	}
	size := float64(max(callers, 1)) * float64(max(pipelines, 1)) / efficiency
	return max(1, int(math.Ceil(math.Min(size, math.MaxInt32))))
}

// Priority is what [RecommendedLanes] decides for.
type Priority int

// What matters most.
const (
	Throughput Priority = iota // many callers, small replies
	Latency                    // short waits behind slow replies
	Memory                     // few buffers and connections
)

// RecommendedLanes returns the least and the most lanes of the rule of thumb
// that practitioners of shared connections give for so many concurrent callers:
//
//	fewer than 10 callers        4
//	10 to 99                 4 – 8
//	100 to 499               8 – 16
//	500 and more            16 – 32
//	Latency, at any load         8
//	Memory, at any load          4
//
// The published table does not say which row holds for exactly 10, 100 and 500 callers. This
// function takes the row with more lanes. Values that are not positive count as one caller, and
// an unknown priority as Throughput.
//
// The table was made for connections on which each caller writes for itself.
// Ours write for all callers at once, and with the default strategy,
// lanes.FirstFit, 4 lanes were as fast as any other number with 1 to 1,000
// callers (bench/RESULTS.md). So start with the default, 4, and add lanes only
// if slow replies hold up fast ones.
func RecommendedLanes(callers int, p Priority) (least, most int) {
	switch {
	case p == Latency:
		return 8, 8
	case p == Memory, callers < 10:
		return 4, 4
	case callers < 100:
		return 4, 8
	case callers < 500:
		return 8, 16
	}
	return 16, 32
}
