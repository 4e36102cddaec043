package wire

import (
	"math"
	"time"
)

// All times of the package.
const (
	// The defaults of a Dialer.
	defaultTimeout      = 5 * time.Second
	defaultWriteTimeout = 5 * time.Second
	defaultKeepAlive    = 15 * time.Second

	// ownReadMin to ownReadMax is how long a caller reads its own replies. A deadline is
	// only set anew when less than ownReadMin of the last one is left.
	ownReadMin = 3 * time.Millisecond
	ownReadMax = 10 * time.Millisecond

	// lastLook is how long a caller looks once more, at its context's end, for replies
	// that have arrived while it read from another lane.
	lastLook = 250 * time.Microsecond

	// nearRoundTrip is more than the shortest of a lane's round trips takes if its server is near.
	nearRoundTrip = time.Millisecond

	// idleLeast is how long a lane has been idle before its socket is asked whether the
	// server has hung up.
	idleLeast = time.Millisecond

	// endPatience is how long something may go on that should have ended: a user's function
	// after its context, and the reads of a connection whose writes fail.
	endPatience = 100 * time.Millisecond

	// LongestPause is how long a server that is well may take no bytes: a graceful failover
	// makes writers wait for up to five seconds. It is the default of a pool's PauseTimeout,
	// and the least time after which the kernel ends a connection whose bytes the other side
	// does not acknowledge. Linux also counts the time in which the other side acknowledges
	// probes and has no room.
	LongestPause = 10 * time.Second
)

// All counts.
const (
	// SpareUses is how many uses in a row must have needed less than a quarter of a memory that
	// is larger than what is kept, until it is given up: large uses often alternate with small.
	SpareUses = 8

	// maxWrites is how many times a caller writes at most: it has its own deadline, and
	// others that keep the lane busy must not hold it up.
	maxWrites = 16

	// quietReads is after how many reads in a row that carried one batch at most, and left
	// none in flight, the background reader goes back to sleep.
	quietReads = 8

	// While fewer batches than gatherFrom have been handed to the socket, nothing waits;
	// what waits is written when it is a part of gatherPart of them.
	gatherFrom = 16
	gatherPart = 4

	// unlimited is more batches, or bytes, than there may be.
	unlimited = math.MaxInt32
)

// All sizes, in bytes if nothing else is said.
const (
	// KeptBytes, and KeptCommands of a batch's commands, are how much memory is kept for the
	// next use however little that needs: less costs more to allocate again than to keep.
	KeptBytes    = 64 << 10
	KeptCommands = 4096

	// A read buffer grows from minReadBuffer to maxReadBuffer while reads fill it, and is
	// given up when the lane is quiet.
	minReadBuffer = 16 << 10
	maxReadBuffer = 256 << 10

	// growAtOnce is how far a batch's memory grows at a time for what a reply says it will
	// be, or else as much as has arrived: a length is only a claim.
	growAtOnce = 1 << 20

	// largeReply is how large a reply is that others should not queue behind if they have
	// the choice.
	largeReply = 64 << 10

	// writePiece is what the write timeout is for.
	writePiece = 64 << 10
	// maxSyscall is how much one system call writes: some systems refuse 2 GiB and more.
	maxSyscall = 1 << 30
	// relayPiece is what a relay takes before the connection has taken what came earlier.
	relayPiece = 16 << 10

	// gatherBytes are enough to be written whatever else is under way; it is a record of
	// TLS. So is half of what may wait: a lane that is full of what gathers would refuse
	// the rest.
	gatherBytes = 16 << 10

	// readChunk is one read of replies that are taken one by one: those of a handshake, and of
	// a connection that radix decodes.
	readChunk = 4 << 10

	// maxGreeting bounds each reply of the handshake: what answers may be no Redis server at all.
	// The longest is that to ROLE, which has a row of about 90 bytes for each replica.
	maxGreeting = 128 << 10

	// radixLine is the longest line that radix reads.
	radixLine = 4 << 10
)

// A Surplus counts the uses in a row of a memory that is larger than may be kept, and that
// needed less than a quarter of it. It is for memory with one owner, which may need as much
// again. What goes to a sync.Pool is given up at once: nobody knows what the next user needs.
type Surplus int

// Used notes a use of the memory that has the given size. It reports whether the memory is
// to be given up. One of at most keep never is.
func (s *Surplus) Used(need, size, keep int) (giveUp bool) {
	switch {
	case size <= keep: // it says nothing of the other one of two that are used in turn
		return false
	case need >= size/4:
		*s = 0
		return false
	}
	*s++
	return *s >= SpareUses
}

// shrink gives up a large buffer of a lane that is quiet.
func shrink(buf []byte) []byte {
	if cap(buf) > KeptBytes {
		return nil
	}
	return buf
}
