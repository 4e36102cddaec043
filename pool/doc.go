// Package pool has the settings of connection pools. A pool holds the connections to one Redis
// server.
//
// There are three kinds. A batch is the commands of one request for one server.
//
//   - [Laned]: all callers share a few connections. Slow commands have connections of their own.
//   - [Fixed]: a fixed number of connections. Each serves one batch at a time.
//   - [Adaptive]: as Fixed, with a number of connections that follows the load.
//
// Every pool dials connections in the background and replaces broken ones, with backoff and full
// jitter. Batches that find no connection free wait in a bounded queue, first in, first out. A
// pool closes connections that stall, and counts what happens ([redislanes.PoolStats]).
//
// Set a pool in cluster.Config, which makes one for each node. [Custom] puts pools under radix's
// own Cluster and Sentinel.
package pool
