// Package model is Redis Cluster as a model: nodes with keys, slots, replicas,
// migrations and failovers, in memory, in whatever time package time tells, which
// may be virtual. Its replies are byte for byte those of redis-server 7.0, or of another
// server that has a dialect, for the commands that it knows; a test compares them with a real server's.
//
// A [Cluster] is the truth: who owns which slot, and all keys. Each [Node] has a
// view of it of its own, which may be late or wrong. A [Session] is one
// connection's state; [Cluster.Serve] joins it to a net.Conn. Faults are methods of
// Cluster and Node, and may be called at any time.
//
// It does not know sockets, evict keys or persist anything.
package model
