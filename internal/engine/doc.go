// Package engine sends requests of commands to the nodes of a Redis Cluster:
// package cluster is its face for radix's actions, package pipeline the one for
// many commands at once.
//
// [Client.Exec] sends a [Request] of encoded commands, grouped by node or slot,
// follows MOVED and ASK for each command by itself, and decides for each one that
// has no reply whether it is sent again. In the background the client asks servers for
// the map of the slots.
//
// Two pure packages make the decisions, and this one carries them out: package slots knows
// which node owns which slot and which map to trust, package attempt what happens next to a
// command that was sent.
//
// It does not run commands on all nodes, split commands whose keys lie in
// several slots (they are refused with [redislanes.ErrCrossSlot] before anything is
// sent), or repeat a command whose outcome is unknown, unless it only reads or
// is marked as idempotent.
package engine
