package pool

import "github.com/redislanes/redislanes/sizing"

// RecommendedSize is sizing.RecommendedSize: how many connections a [Fixed] pool
// needs by a rule of thumb, callers × pipelines ÷ efficiency.
func RecommendedSize(callers, pipelines int, efficiency float64) int {
	return sizing.RecommendedSize(callers, pipelines, efficiency)
}
