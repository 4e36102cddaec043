package pool

import "math"

// RecommendedSize returns how many connections a [Fixed] pool needs for the
// given number of concurrent callers, each of which sends so many pipelines
// (one for each node that a request touches) at a time. Efficiency, usually 2
// to 3, says how many callers one connection serves because they do not all
// wait for Redis at the same moment. The formula is callers × pipelines ÷
// efficiency, rounded up; at least 1. Values that are not positive count as 1.
//
// It is a rule of thumb of practitioners, not a law: measure with
// `go test -bench Scenario ./bench`.
func RecommendedSize(callers, pipelines int, efficiency float64) int {
	if !(efficiency > 0) {
		efficiency = 1
	}
	size := float64(max(callers, 1)) * float64(max(pipelines, 1)) / efficiency
	return max(1, int(math.Ceil(math.Min(size, math.MaxInt32))))
}
