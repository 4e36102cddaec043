package sizing

import (
	"math"
	"time"
)

// maxModelled bounds what the models count one by one, so that each of them
// takes milliseconds at most.
const maxModelled = 1 << 20

// Forever is the wait of a queue that grows without end.
const Forever time.Duration = math.MaxInt64

// RequestsInFlight returns how many requests are in flight on average, by Little's law L = λW.
// The rate λ is the number of requests that begin in a second, W the mean time of a request. It
// holds for any distribution, as long as requests do not begin faster than they end.
//
// A rate that is not positive, or NaN, and a negative time count as 0. The result is at most
// math.MaxFloat64. Source: J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations
// Research 9 (1961).
func RequestsInFlight(rate float64, mean time.Duration) float64 {
	return math.Min(positive(rate)*max(mean, 0).Seconds(), math.MaxFloat64)
}

// Utilization returns which part of a pool.Fixed pool is in use on average,
// ρ = λ/(c·µ) = λ × trip ÷ size: trips begin at the given rate, a second, and
// each occupies one of size connections for the time of one trip. A result of 1
// or more says that the queue grows without end. Bad values are clamped as in
// [RequestsInFlight]; a size below 1 counts as 1.
func Utilization(rate float64, trip time.Duration, size int) float64 {
	return RequestsInFlight(rate, trip) / float64(max(size, 1))
}

// QueueWait returns how long the last of so many waiting callers waits for one
// of size connections: waiting ÷ size × the time of one trip. All connections
// are busy, so one becomes free every trip ÷ size on average, and the last
// caller needs as many of these as callers wait, itself included. This is exact
// for the mean if the times of trips are exponentially distributed, and an
// upper bound if they are all the same.
//
// It reads a queue that was measured, such as PoolStats.Waiters. It cannot choose a
// size, since the number of waiting callers follows from it: see
// [ExpectedWait]. Negative values count as 0, a size below 1 as 1; the result
// is at most [Forever].
func QueueWait(waiting, size int, trip time.Duration) time.Duration {
	return seconds(float64(max(waiting, 0)) / float64(max(size, 1)) * max(trip, 0).Seconds())
}

// erlangC returns the probability that a trip finds all of so many connections
// in use, if trips begin independently of each other (a Poisson process) and
// those that find none free wait: the M/M/c queue. The load is in erlangs, the
// mean number of connections that would be in use if there were enough of them:
// rate × time of one trip, as [RequestsInFlight] returns it. Source: A. K.
// Erlang, "Solution of some Problems in the Theory of Probabilities of
// Significance in Automatic Telephone Exchanges" (1917); computed by the
// recursion of the Erlang B formula, which neither overflows nor loses digits.
//
// A load that is not positive, or NaN, counts as 0; a size below 1 counts as
// 1, and one over 2²⁰ as 2²⁰. The result is 1 if the load is at least the size.
func erlangC(size int, load float64) float64 {
	size = min(max(size, 1), maxModelled)
	load = positive(load)
	if load >= float64(size) {
		return 1
	}
	blocked := 1.0
	for k := 1; k <= size; k++ {
		blocked = load * blocked / (float64(k) + load*blocked)
	}
	return blocked / (1 - load/float64(size)*(1-blocked))
}

// ExpectedWait returns the mean time that a trip waits for a connection of a
// pool.Fixed pool, those that need not wait included: trips begin independently of
// each other at the given rate, a second, and take the given time on average.
// By the M/M/c model it is C(size, load) × trip ÷ (size − load), with
// erlangC as C. A modern account is L.
// Kleinrock, "Queueing Systems", volume 1 (1975), chapter 3.
//
// The model takes the times of trips for exponentially distributed. Those of
// Redis vary less, so the wait is shorter, down to about half if they are all
// the same. It is for open arrivals, such as requests from the network; callers
// in a closed loop are for [ClosedThroughput]. Values are clamped as in
// erlangC; the result is [Forever] if the load is at least the size.
func ExpectedWait(rate float64, trip time.Duration, size int) time.Duration {
	size = min(max(size, 1), maxModelled)
	load := RequestsInFlight(rate, trip)
	if load >= float64(size) {
		return Forever
	}
	return seconds(erlangC(size, load) * max(trip, 0).Seconds() / (float64(size) - load))
}

// ClosedThroughput returns the most trips a second that so many callers can
// make over a pool.Fixed pool of the given size to one server. Each sends its next
// trip when it has the reply to the last one and has then thought for a while:
// a closed loop, as in most benchmarks. The bound is
//
//	min(callers ÷ (trip + think), size ÷ trip)
//
// and, without think time, min(callers, size) ÷ trip. It is an asymptotic bound:
// P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network
// Models", ACM Computing Surveys 10 (1978). The trip is the time that a
// connection is occupied, and must be measured at the load in question: a
// server or a client that is out of CPU makes it longer. So a measured rate that
// is far below says that connections are not what is short.
//
// Negative durations count as 0, callers below 1 as none, a size below 1 as 1.
// A trip and a think time of 0 make it math.MaxFloat64, not infinite.
func ClosedThroughput(callers, size int, trip, think time.Duration) float64 {
	busy, loop := max(trip, 0).Seconds(), max(trip, 0).Seconds()+max(think, 0).Seconds()
	if callers < 1 {
		return 0
	}
	rate := math.MaxFloat64
	if loop > 0 {
		rate = float64(callers) / loop
	}
	if busy > 0 {
		rate = math.Min(rate, float64(max(size, 1))/busy)
	}
	return rate
}

// ClosedWait returns how long a caller of [ClosedThroughput] waits for a
// connection each time, at least: by the interactive response time law (the
// same source), callers ÷ throughput − trip − think. It is 0 as long as there
// are connections for all callers that do not think, and at most [Forever].
func ClosedWait(callers, size int, trip, think time.Duration) time.Duration {
	rate := ClosedThroughput(callers, size, trip, think)
	if rate <= 0 {
		return 0
	}
	wait := float64(callers)/rate - max(trip, 0).Seconds() - max(think, 0).Seconds()
	if wait < time.Nanosecond.Seconds() {
		return 0 // a remainder of rounding
	}
	return seconds(wait)
}

// positive returns x, or 0 if it is negative or no number, at most
// math.MaxFloat64.
func positive(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(x, math.MaxFloat64)
}

// seconds returns x, which is not negative, as a duration.
func seconds(x float64) time.Duration {
	ns := math.Round(x * float64(time.Second))
	if !(ns < float64(Forever)) {
		return Forever
	}
	return time.Duration(ns)
}
