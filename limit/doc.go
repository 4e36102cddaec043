// Package limit has rate limits with counters in a Redis Cluster. Several limits, on keys in any
// slots, are decided in one round trip.
//
// [Config.New] makes a [Limiter] from a cluster.Client. [Rule.New] makes a [Limit], such as 100 hits
// a minute. [Limiter.Allow] decides about requests. A [Request] is a number of hits on
// one key of one limit. Hits that do not fit are not counted. A call with several requests is allowed
// only if all are. If one denies it, what the others have counted is given back.
//
// When Redis does not answer within the limiter's budget ([Config.Budget]), each limit fails open or
// closed, as its rule says, and the [Decision] has the error.
//
// A limiter reserves hits on keys that are hit often, and decides about them without Redis
// ([Rule.NoLease]). Such a lease never lets a limit be exceeded, except that of a bucket after the
// machine was suspended (docs/limits.md). Hits of many callers on any other key travel as one
// command.
//
// More:
//
//   - Request.Look asks whether a hit would be allowed, and counts nothing.
//   - Request.Charge counts hits even beyond the limit, and does not give them back.
//   - Request.Rule is a limit that comes with the call, such as that of a customer's plan.
//   - [Limiter.Wait] waits until hits fit, for programs that pace their own calls.
//   - [Limiter.Reserve] counts an estimate. [Reservation.Settle] replaces it by the actual cost.
//   - [Limiter.AllowAtMost] grants as many hits as fit.
//   - [Limiter.GiveBack] returns hits, and [Limiter.Reset] forgets the hits of a key.
//   - Package places limits how many holders a key has at a time.
//   - Package limithttp has handlers for HTTP, and package limitgrpc interceptors for gRPC.
package limit
