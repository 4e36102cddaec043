// Package cluster knows which node of a Redis Cluster owns a slot now, and
// sends commands there.
//
// [Config.New] makes a [Client], which keeps a pool of connections to each
// node (package pool), follows MOVED and ASK for each command by itself, and
// keeps its map of the slots up to date in the background. A server without
// cluster mode is a cluster of one node. The Client is a radix.Client and a
// radix.MultiClient, so that programs written for radix work with it.
//
// Many commands at once, grouped by node or slot, are the business of package
// pipeline.
//
// It knows where the keys of each command are and how the command may travel:
// whether it only reads, blocks, changes its connection or is slow. Slow commands
// have lanes of their own, and by which names is a setting ([Config]).
//
// It does not run commands on all nodes, split commands whose keys lie in
// several slots (they are refused with [redislanes.ErrCrossSlot] before anything is
// sent), or repeat a command whose outcome is unknown, unless it only reads or
// is marked as idempotent.
package cluster
