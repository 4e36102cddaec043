package sizing

import (
	"math"
	"time"
)

// CollisionProbability returns the probability that at least two of so many
// batches in flight share a lane, if each is put on one of the lanes by chance:
// the birthday problem,
//
//	1 − (1 − 1/lanes)(1 − 2/lanes) … (1 − (batches − 1)/lanes)
//
// Source: R. von Mises, "Über Aufteilungs- und Besetzungswahrscheinlichkeiten"
// (1939). Fewer than two batches do not collide; more batches than lanes always
// do. Lanes below 1 count as 1, and over 2²⁰ as 2²⁰.
//
// It says how soon lanes are shared, which is earlier than most expect: 5
// batches on 16 lanes, one time in two. It is no measure of harm. Sharing is
// what lanes are for, lanes.FirstFit does it on purpose, and lanes.LeastUsed
// avoids it until all lanes are used; only strategies that choose blindly
// (affinity, a hash of the key) follow this formula.
func CollisionProbability(batches, lanes int) float64 {
	lanes = min(max(lanes, 1), maxModelled)
	switch {
	case batches < 2:
		return 0
	case batches > lanes:
		return 1
	}
	apart := 0.0 // the logarithm of the product
	for i := 1; i < batches && apart > smallestLog; i++ {
		apart += math.Log1p(-float64(i) / float64(lanes))
	}
	return -math.Expm1(apart)
}

// smallestLog is where e^x is 0 for a float64.
const smallestLog = -746

// BlockedShare returns the share of requests that find a slow request before them on their lane
// (head-of-line blocking). rate is the number of slow requests in a second, slow the time that
// each occupies its connection. Requests are put on the lanes in turn or at random. The share is
// the utilisation of a lane by slow requests, at most 1:
//
//	rate × slow / lanes
//
// The share that waits longer than w is that of slow requests which take w less, as long as slow
// requests do not queue behind each other. lanes.LeastUsed and lanes for slow commands have a
// smaller share, since fast requests avoid an occupied lane.
//
// Lanes below 1 count as 1. Rates and times that are negative, or no number, count as 0. Source:
// R. W. Wolff, "Poisson Arrivals See Time Averages", Operations Research 30(2), 1982.
func BlockedShare(rate float64, slow time.Duration, lanes int) float64 {
	return min(Utilization(rate, slow, lanes), 1)
}
