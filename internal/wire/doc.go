// Package wire holds connections to one Redis server that many callers share.
//
// A [Lane] is one connection. Callers enqueue batches of commands; the lane
// writes them in order and hands the replies back in the same order (the
// server guarantees it). Nothing runs in the background while a lane is idle:
// the caller writes its own batch and, when it is alone, reads its own
// replies. Under load one caller writes for all that have queued meanwhile,
// and a background goroutine reads. See ARCHITECTURE.md for the roles and the
// lock order.
//
// A [Batch] owns its replies. A caller that leaves early, at its context's
// end, abandons its batch to the lane, and nothing ever writes into the
// caller's memory afterwards. Every command of a batch ends with a reply, or
// with an error that wraps redislanes.ErrNotSent (certainly not executed, safe to
// send again) or redislanes.ErrUnknownOutcome (perhaps executed).
//
// A lane is FIFO, so a slow reply delays those behind it (pools keep lanes of
// their own for batches that are marked as slow). It does not reconnect (package
// nodepool does) and knows nothing of slots (package engine does). Pub/sub needs a
// connection of its own; use radix's.
package wire
