// Package engine sends requests of commands to the nodes of a Redis Cluster:
// package cluster is its face for radix's actions, package pipeline the one for
// many commands at once.
//
// [Client.Exec] sends a [Request] of encoded commands, grouped by node or slot,
// follows MOVED and ASK for each command by itself, and decides for each one that
// has no reply whether it is sent again. The rest of the package knows which node
// owns a slot now: it keeps the map of the slots up to date in the background, and
// judges what servers say of it before it believes it.
//
// It does not run commands on all nodes, split commands whose keys lie in
// several slots (they are refused with [redislanes.ErrCrossSlot] before anything is
// sent), or repeat a command whose outcome is unknown, unless it only reads or
// is marked as idempotent.
package engine
