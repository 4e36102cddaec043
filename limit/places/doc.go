// Package places limits how many holders a key has at a time, across processes, with places in a
// Redis Cluster.
//
// [Config.New] makes a [Semaphore] from a cluster.Client. [Semaphore.Acquire] takes a place of a
// key and returns a [Hold]. [Hold.Release] gives the place back. The place of a process that has died is
// free again after [Config.TTL].
//
// Package limithttp has a handler for HTTP, and package limitgrpc interceptors for gRPC.
package places
