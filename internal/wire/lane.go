package wire

import (
	"cmp"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A reader says which goroutine reads from the connection. Only the holder of this role touches
// rbuf, the framer and the read deadline.
type reader uint8

const (
	nobody     reader = iota
	claimed           // the claimant will read, unless somebody enqueues before
	caller            // the claimant is reading its own batch
	background        // the background goroutine reads until the lane falls quiet
)

// Events is what a lane tells its pool. The methods are called without a lock
// held, by whichever goroutine was reading or writing, and must not block.
type Events interface {
	// Answered says that batches were completed and room became free.
	Answered(l *Lane)
	// Closed says that the lane has failed or was closed. Called once.
	Closed(l *Lane)
}

// An Owner is the pool of a lane, as the lane knows it. The zero value is nobody.
type Owner struct {
	Events    Events      // nil: nobody is told
	Errors    *ErrorCount // counts error replies; nil: nobody does
	MaxQueued int         // bytes that wait to be written, beyond which [Lane.Enqueue] refuses a batch; 0: no limit
}

// A Lane is one connection to a Redis server, shared by many callers in FIFO
// order. [DialFor] makes it. All methods are safe for concurrent use.
type Lane struct {
	addr         string
	conn         net.Conn
	plain        outlet     // conn's, without TLS
	secure       *tlsSocket // below conn, with TLS
	events       Events
	writeTimeout time.Duration
	keepsTime    bool        // the connection knows read deadlines, without which no caller may read
	errorReplies *ErrorCount // nil: nobody counts
	maxQueued    int         // bytes of wbuf beyond which Enqueue refuses a batch

	gauge    lanes.Gauge           // InFlight: batches enqueued and not complete, increased under mu
	progress atomic.Uint64         // reads that brought bytes, and writes that the other side made room for
	grown    atomic.Bool           // rbuf is larger than it was; set by the reader
	leaving  atomic.Pointer[error] // not nil: close when nothing is in flight, because of it; set under mu
	armed    atomic.Bool           // the next batch is to be timed, see Answered
	usual    atomic.Int64          // the usual reply time, in nanoseconds; 0 before there is one
	shortest atomic.Int64          // the shortest reply time; 0 before there is one
	restedAt atomic.Int64          // when nothing was in flight any more, as Now counts; see hungUp

	// mu guards what follows, up to the next blank line; never held across I/O.
	mu       sync.Mutex
	wbuf     []byte // what is to be written next
	queued   uint64 // bytes of the stream that were enqueued
	taken    uint64 // batches that were enqueued
	handed   uint64 // bytes of the stream that were handed to the socket
	waiting  int    // batches in wbuf
	writing  bool   // somebody has the role of the writer
	reader   reader
	claimant *Batch
	head     *Batch // FIFO of batches that the reader has not taken yet
	tail     *Batch
	err      error // why the lane takes no more batches
	shut     bool  // the connection is closed
	settled  bool

	// Owned by the role of the writer.
	spare []byte

	// replyMu guards the FIFO that the reader has taken and the replies of all
	// batches; never held across I/O. It is taken before mu.
	replyMu sync.Mutex
	oldest  *Batch

	// Owned by the role of the reader.
	rbuf   []byte
	framer *resp.Framer
	readBy time.Time // the read deadline that is set

	wake   chan struct{} // tells the background goroutine that it is the reader
	closed chan struct{}
	ended  chan struct{} // closed when the background goroutine has returned
}

func newLane(addr string, conn net.Conn, d dialer, o Owner) *Lane {
	if o.Events == nil {
		o.Events = noEvents{}
	}
	l := &Lane{
		addr: addr, conn: conn, writeTimeout: d.WriteTimeout,
		events: o.Events, errorReplies: o.Errors, maxQueued: cmp.Or(o.MaxQueued, unlimited),
		rbuf: make([]byte, minReadBuffer), framer: resp.NewFramer(d.MaxReply),
		wake: make(chan struct{}, 1), closed: make(chan struct{}), ended: make(chan struct{}),
		reader: background, // so that an unused lane notices when the server hangs up
	}
	l.gauge.ID = rand.Uint64()
	l.plain, l.secure = outletsOf(conn)
	l.keepsTime = conn.SetReadDeadline(time.Time{}) == nil
	l.wake <- struct{}{}
	l.rest()
	go l.readInBackground()
	return l
}

// Address returns the server's address, host:port, as it was dialled.
func (l *Lane) Address() string { return l.addr }

// InFlight returns how many batches were enqueued and are not complete yet.
func (l *Lane) InFlight() int { return int(l.gauge.InFlight.Load()) }

// Progress returns a number that changes whenever bytes arrive, and whenever bytes are written
// that had to wait for room: a server that is slow to take an upload is not silent. Bytes that
// only fill the socket's buffer do not count: they fit although the server has stopped.
func (l *Lane) Progress() uint64 { return l.progress.Load() }

// outlet returns what takes the bytes that leave, below TLS or not.
func (l *Lane) outlet() outlet {
	if l.secure != nil {
		return l.secure.socket
	}
	return l.plain
}

// Enqueue puts the batch at the end of the lane's FIFO. It returns false, and
// leaves the batch alone, if the lane is closed, has limit batches in flight, or
// has as many bytes waiting to be written as [Owner].MaxQueued. A batch that finds nothing
// waiting is taken whatever its size.
// The caller, who will wait for the batch, must then [Flush] it and call
// Batch.Read.
func (l *Lane) Enqueue(b *Batch, limit int) bool {
	ok, flush := l.enqueue(b, limit, true)
	b.flush = flush
	return ok
}

// Dispatch is Enqueue by another goroutine than the one that waits for the batch. If it returns
// flush, the dispatcher must call [Lane.Flush]. The batch does not note that: its caller may use it
// for the next request before the dispatcher looks at it again.
func (l *Lane) Dispatch(b *Batch, limit int) (ok, flush bool) {
	return l.enqueue(b, limit, false)
}

func (l *Lane) enqueue(b *Batch, limit int, mayRead bool) (ok, flush bool) {
	queued, gone := l.hungUp()
	l.mu.Lock()
	l.noteGoneLocked(queued, gone)
	full := int(l.gauge.InFlight.Load()) >= limit || len(l.wbuf) > 0 && len(l.wbuf)+b.Size() > l.maxQueued
	if full || l.err != nil || l.leaving.Load() != nil {
		l.mu.Unlock()
		return false, false
	}
	b.lane, b.start = l, l.queued
	l.wbuf = b.appendTo(l.wbuf)
	l.queued += uint64(b.Size())
	b.arena = nil
	if l.head == nil {
		l.head = b
	} else {
		l.tail.next = b
	}
	l.tail = b
	l.taken++
	l.gauge.InFlight.Add(1)
	if l.armed.Load() {
		l.armed.Store(false)
		b.began = Now()
	}
	l.waiting++
	flush = !l.writing && l.gatheredLocked()
	l.writing = l.writing || flush
	wake := l.assignReaderLocked(b, mayRead)
	l.mu.Unlock()
	if wake {
		l.wake <- struct{}{}
	}
	return true, flush
}

// assignReaderLocked gives b a claim on the role of the reader if nobody has
// it. An unused claim is lost to the background goroutine as soon as a second
// batch needs the lane: its caller may be held up on another lane.
func (l *Lane) assignReaderLocked(b *Batch, mayRead bool) (wake bool) {
	switch {
	case l.reader == nobody && mayRead && l.keepsTime:
		l.reader, l.claimant, b.reads = claimed, b, true
	case l.reader == nobody || l.reader == claimed:
		l.reader, l.claimant = background, nil
		return true
	}
	return false
}

// Submit enqueues the batch without a limit; see [Submitter]. A closed lane
// fails the batch.
func (l *Lane) Submit(b *Batch) (mine bool) {
	if l.Enqueue(b, unlimited) {
		return true
	}
	if why := l.leaving.Load(); why != nil {
		b.Fail(l.addr, *why)
	} else {
		b.Fail(l.addr, l.Err())
	}
	return false
}

// Abandon gives up waiting for the batch; see [Batch.Abandon].
func (l *Lane) Abandon(b *Batch, cause error) { b.Abandon(cause) }

// Err returns why the lane takes no more batches, nil if it does. The connection is closed, or will be in a
// moment.
func (l *Lane) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Watch makes the background goroutine listen on an idle lane, so that it
// notices at once when the server closes the connection, and gives back the
// memory that the lane needed for something large.
func (l *Lane) Watch() {
	l.mu.Lock()
	wake := l.err == nil && l.reader == nobody
	idle := l.gauge.InFlight.Load() == 0
	poke := l.err == nil && l.reader == background && idle && l.grown.Load()
	if wake {
		l.reader = background
	}
	if idle && !l.writing {
		l.wbuf, l.spare = Kept(l.wbuf, minReadBuffer), Kept(l.spare, minReadBuffer)
	}
	l.mu.Unlock()
	switch {
	case wake:
		l.wake <- struct{}{}
	case poke:
		// It sits in a read with a large buffer. If the role has changed hands
		// meanwhile, somebody's read ends early, which it may at any time.
		_ = l.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// Close closes the connection. Batches in flight end with an error. It waits
// for the background goroutine's end, so the methods of [Events] must not call
// it; they may call Fail.
func (l *Lane) Close() error {
	l.Fail(ErrClosed)
	<-l.ended
	return nil
}

// Flush writes what was enqueued on the batches' lanes, where their callers
// have got the role of the writer. If a lane is busy it lets other goroutines
// run first, once for all lanes, so that they can enqueue too and share the
// write.
func Flush(batches []*Batch) {
	for _, b := range batches {
		if b.flush && b.lane.gauge.InFlight.Load() > 1 {
			runtime.Gosched()
			break
		}
	}
	for _, b := range batches {
		if b.flush {
			b.flush = false
			b.lane.write()
		}
	}
}

// Flush writes what was enqueued. Call it only if [Lane.Dispatch] returned flush.
func (l *Lane) Flush() { l.write() }

// abandon settles under replyMu whether the batch is complete or abandoned.
func (l *Lane) abandon(b *Batch, cause error) {
	l.replyMu.Lock()
	if !b.done {
		b.abandoned = true
		// What the lane still holds of it will be written sooner or later.
		b.fail(l.addr, cause, b.Len())
	}
	l.replyMu.Unlock()
	if b.flush { // the caller left before it wrote
		b.flush = false
		l.write()
	}
	b.leaveReading()
}

// Lanes are the lanes of one server among which a strategy chooses, by the Set.
// They do not change.
type Lanes struct {
	*lanes.Set
	lanes []*Lane
}

// NewLanes returns the lanes, which it keeps. Those of one server share the turn.
func NewLanes(open []*Lane, turn *atomic.Uint32) *Lanes {
	gauges := make([]*lanes.Gauge, len(open))
	for i, l := range open {
		gauges[i] = &l.gauge
	}
	return &Lanes{lanes.NewSet(gauges, turn), open}
}

// Lane returns the lane of index i.
func (s *Lanes) Lane(i int) *Lane { return s.lanes[i] }
