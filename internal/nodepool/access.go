package nodepool

import (
	"context"

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

	// lend waits for a connection and lends it until it is returned.
	lend(ctx context.Context) (*Lent, error)

	// answered is told that a batch on the connection has its replies.
	answered(m *member)

	// offerLocked gives a connection that nobody uses to those who may use it.
	offerLocked(m *member)

	// withdrawLocked takes it from them, when it is about to leave.
	withdrawLocked(m *member)

	// dropLocked takes it out of the members.
	dropLocked(m *member)

	// changedLocked is called when the server has become suspect or is not so any
	// more, or when other connections are silent than before.
	changedLocked()

	// dispatch looks for connections for those who wait, where connections do not
	// look for them when they become free.
	dispatch()

	// trimLocked makes so many connections leave that are not wanted any more.
	trimLocked(surplus int)

	// loadLocked returns how many batches and users have a connection, without
	// PINGs. recordLocked reports whether that may be more than at any time since
	// the last look, as far as the pool has to count it; takePeakLocked returns
	// what the access has counted by itself, and begins anew.
	loadLocked() int
	recordLocked() bool
	takePeakLocked() int

	// fullLocked reports whether all connections are in use, and limitLocked
	// names the limit that makes them so.
	fullLocked() bool
	limitLocked() string

	// usageLocked says of what those who wait wait for one.
	usageLocked() (used, of int, what string)

	// capacity is how many batches may be in flight at a time.
	capacity() int

	// partsLocked returns the pools inside that exist, and partOfLocked the one
	// that the batch was submitted to, nil for this pool itself.
	partsLocked() []*Pool
	partOfLocked(b *wire.Batch) *Pool
}
