// Command peers measures Redislanes beside rueidis, go-redis and radix: one
// process, one cluster, the clients in turn, round after round. It starts the
// cluster itself: three primaries with a replica each.
//
// Each request is INCRBY and EXPIRE for each of its keys, in one pipeline, as a
// rate limiter sends it. Callers send their next request when they have the
// reply to the last one (a closed loop), so that rates are comparable; a request
// that fails ends the run.
//
// Usage, from the root of the repository:
//
//	make peers PEERFLAGS="-callers 100 -for 2s -rounds 3"
//
// The module is one of its own, so that users of the library do not depend on
// its rivals.
package main
