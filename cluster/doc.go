// Package cluster is a client for a Redis Cluster. It sends each command to the node that owns
// the command's slot.
//
// [Config.New] makes a [Client]. The Client keeps a pool of connections to each node (package
// pool), follows MOVED and ASK for each command separately, and keeps its map of the slots up to
// date in the background. A server without cluster mode counts as a cluster of one node. The
// Client is a radix.Client and a radix.MultiClient, so programs written for radix work with it.
//
// To send many commands at once, use package pipeline.
//
// The Client knows where the keys of each command are, and whether a command only reads, blocks,
// changes its connection or is slow. Slow commands have connections of their own ([Config.Slow]).
//
// It does not:
//
//   - run a command on all nodes; see [Client.ForEachPrimary] and [Client.Clients],
//   - split a command with keys in several slots: it refuses it with [redislanes.ErrCrossSlot]
//     before anything is sent; see pipeline.MGet and others,
//   - repeat a command with an unknown outcome, unless the command only reads or is marked as
//     idempotent.
package cluster
