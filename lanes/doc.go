// Package lanes says how servers are dialled, and which of the connections to one
// server a batch of commands takes.
//
// A lane is a connection to one Redis server that many callers share: batches of
// commands travel on it in order, and their replies come back in the same order.
// A pool keeps some of them for each server (pool.Laned shares them, pool.Fixed and
// pool.Adaptive lend each to one caller at a time). A [Dialer] has the settings with
// which they are made: credentials, TLS, timeouts, limits.
//
// A [Strategy] chooses among the lanes of one server for each batch. It sees how
// many batches each has in flight, as a [Set].
//
// A lane is FIFO, so a slow reply delays those behind it; pools keep lanes of their
// own for slow commands. Pub/sub needs a connection of its own; use radix's.
package lanes
