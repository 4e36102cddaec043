package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
)

// An access says who may use the connections of a pool, and brings batches to
// them: [exclusiveAccess] or [sharedAccess]. The Pool has what both need: it dials,
// watches, counts and closes connections, and has the queue of those that wait.
// Methods whose names end in Locked are called under Pool.mu.
type access interface {
	// submit sends the batch over a connection, or queues it until one is free,
	// or fails it; it does not block. See wire.Submitter for mine.
	submit(b *wire.Batch) (mine bool)

	// answered is told that a batch on the connection has its replies.
	answered(m *member)

	// offerLocked gives a connection that nobody uses to those who may use it.
	offerLocked(m *member)

	// withdrawLocked takes it from them, when it is about to leave or has left.
	withdrawLocked(m *member)

	// changedLocked is called when the server has become suspect or is not so any
	// more, or when other connections are silent than before.
	changedLocked()

	// dispatch looks for connections for queued batches, where connections do not
	// look for them when they become free.
	dispatch()

	// trimLocked makes so many connections leave that are not wanted any more.
	trimLocked(surplus int)
}
