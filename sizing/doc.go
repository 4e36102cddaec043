// Package sizing has the formulas by which the connections of a pool are counted:
// a rule of thumb of practitioners, and the models of queueing theory that check it.
//
// [RecommendedSize] and [RecommendedLanes] say how many connections to begin with.
// [ClosedThroughput] and [ClosedWait] model a fixed number of callers over exclusive
// connections (pool.Fixed), [ExpectedWait] and [QueueWait] requests that
// come at a rate, [CollisionProbability] how often batches share one of the lanes of
// a pool.Laned, and [BlockedShare] how often a request waits behind a slow one there.
// docs/sizing.md says when to use each.
//
// All functions are pure. Values out of range are clamped as each says; none
// panics.
package sizing
