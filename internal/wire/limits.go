package wire

import (
	"math"
	"time"
)

// All times of the package.
const (
	// The defaults of a Dialer.
	defaultTimeout   = 5 * time.Second
	defaultKeepAlive = 15 * time.Second

	// ownReadMin to ownReadMax is how long a caller reads its own replies. A deadline is
	// only set anew when less than ownReadMin of the last one is left.
	ownReadMin = 3 * time.Millisecond
	ownReadMax = 10 * time.Millisecond

	// lastLook is how long a caller waits, also at its context's end, for replies
	// that have arrived while it read from another lane.
	lastLook = 250 * time.Microsecond

	// nearRoundTrip is more than the shortest of a lane's round trips takes if its server is near.
	nearRoundTrip = time.Millisecond

	// idleLeast is how long a lane has been idle before its socket is asked whether the
	// server has hung up.
	idleLeast = time.Millisecond

	// endPatience is how long a connection is read whose writes fail.
	endPatience = 100 * time.Millisecond

	// longestPause is how long a server that is well may take no bytes: a graceful failover
	// makes writers wait for up to five seconds. It is the least time after which the kernel ends a connection whose bytes the other side
	// does not acknowledge. Linux also counts the time in which the other side acknowledges
	// probes and has no room.
	longestPause = 10 * time.Second
)

// All counts.
const (
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

	// A reply time that is longer than usual changes the usual one by one part in replyShare.
	replyShare = 8

	// unlimited is more batches, or bytes, than there may be.
	unlimited = math.MaxInt32
)

// All sizes, in bytes if nothing else is said.
const (
	// KeptBytes, and KeptCommands of a batch's commands, are how much memory is kept for the next use.
	KeptBytes    = 1 << 20
	KeptCommands = 16 << 10

	// A read buffer grows from minReadBuffer to maxReadBuffer while reads fill it.
	minReadBuffer = 16 << 10
	maxReadBuffer = 64 << 10

	// growAtOnce is how far a batch's memory grows at a time for what a reply says it will
	// be, or else as much as has arrived: a length is only a claim.
	growAtOnce = 1 << 20

	// writePiece is what the write timeout is for.
	writePiece = 64 << 10
	// maxSyscall is how much one system call writes: some systems refuse 2 GiB and more.
	maxSyscall = 1 << 30

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
)
