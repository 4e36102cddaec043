// Package pool has the settings and the figures of the connections to one Redis
// server.
//
// The kinds of pool differ in how many may use a connection at the same time:
// [Fixed] lends each of a fixed number of connections to one caller's batch at
// a time; [Adaptive] does so with a number that follows the load; [Laned] lets
// all callers share a few, and has others for slow commands. A batch is the
// commands of one request for one server. Every pool dials by itself, replaces
// broken connections with backoff and full jitter, queues what finds no free
// connection (first in, first out, bounded), closes stalled connections and
// counts what happens ([redislanes.PoolStats]).
//
// A program gives the settings to cluster.Config, which makes a pool for each
// node. [Custom] puts pools under radix's own Cluster.
package pool
