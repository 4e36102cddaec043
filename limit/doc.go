// Package limit limits rates with counters in a Redis Cluster: any number of limits
// on keys in any slots, decided in one round trip.
//
// A [Limiter] is made from a cluster.Client. [Limiter.Limit] makes a [Limit] from a
// [Rule], such as 100 hits a minute, and [Limiter.Allow] decides about requests,
// each of which is a hit on one key of one limit. A call with several of them is
// allowed only if all are: those that were counted although the call was denied are
// given back. A [Request] that only looks asks whether a hit would be allowed, and
// counts nothing.
//
// Hits of many callers on one key travel as one command (pipeline.Counters), so
// that a hot key costs little more than a cold one.
//
// [Limiter.Reserve] counts an estimate, which [Reservation.Settle] replaces by the actual
// cost. A request with Charge is counted whatever it costs.
//
// A [Concurrency] limits how many holders a key has at a time. [Limiter.AllowAtMost] grants
// as many hits as fit, and [Limiter.Reset] forgets the hits of a key.
//
// A limiter reserves hits on keys that are hit often, and decides about them without Redis:
// see [Rule.NoLease].
//
// When Redis does not answer within the limiter's budget, each limit fails open or
// closed, as its rule says, and the decision has the error.
package limit
