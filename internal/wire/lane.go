package wire

import (
	"cmp"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A reader says which goroutine reads from the connection.
type reader uint8

const (
	nobody     reader = iota
	claimed           // the claimant will read, unless somebody enqueues before
	caller            // the claimant is reading its own batch
	background        // the background goroutine reads until the lane falls quiet
)

// A state says what a lane still does.
type state uint8

const (
	open     state = iota
	draining       // it takes no more batches, and fails when nothing is in flight
	failed         // its connection is about to be closed
	shut           // its connection is closed
	settled        // and all its batches have ended
)

// Events is what a lane tells its pool. The methods are called without a lock
// held, by whichever goroutine was reading or writing, and must not block.
type Events interface {
	// Answered says that batches were completed and room became free.
	Answered(l *Lane)
	// Closed says that the lane has failed or was closed. Called once.
	Closed(l *Lane)
}

type noEvents struct{}

func (noEvents) Answered(*Lane) {}
func (noEvents) Closed(*Lane)   {}

// An Owner is the pool of a lane, as the lane knows it. The zero value is nobody.
type Owner struct {
	Events    Events      // nil: nobody is told
	Errors    *ErrorCount // counts error replies; nil: nobody does
	MaxQueued int         // bytes that wait to be written, beyond which [Lane.Enqueue] refuses a batch; 0: no limit
}

// A Lane is one connection to a Redis server, shared by many callers in FIFO
// order. [DialFor] makes it. All methods are safe for concurrent use.
type Lane struct {
	Owner
	addr string
	conn link

	gauge    lanes.Gauge   // InFlight: batches enqueued and not complete, increased under mu
	progress atomic.Uint64 // reads that brought bytes, and writes that the other side made room for
	restedAt atomic.Int64  // when nothing was in flight any more, as Now counts; see look
	pace     pace

	// mu guards what follows, up to the next blank line; never held across I/O.
	mu       sync.Mutex
	wbuf     []byte // what is to be written next
	taken    uint64 // batches that were enqueued
	handed   uint64 // bytes of the stream that were handed to the connection; those of wbuf are next
	waiting  int    // batches in wbuf
	writing  bool   // somebody has the role of the writer
	reader   reader
	claimant *Batch
	queue    fifo // batches that the reader has not taken yet
	state    state
	why      error // why it is not open

	// Owned by the role of the writer.
	spare []byte

	// replyMu guards the FIFO that the reader has taken and the replies of all
	// batches; never held across I/O. It is taken before mu.
	replyMu sync.Mutex
	oldest  *Batch

	in intake // owned by the role of the reader

	wake  chan struct{} // has the background goroutine look whether it is the reader, and whether the lane is shut
	ended chan struct{} // closed when the background goroutine has returned
}

// A fifo is batches, each linked to the next one.
type fifo struct{ head, tail *Batch }

func (f *fifo) add(b *Batch) {
	if f.head == nil {
		f.head = b
	} else {
		f.tail.next = b
	}
	f.tail = b
}

func newLane(addr string, conn net.Conn, d dialer, o Owner) *Lane {
	if o.Events == nil {
		o.Events = noEvents{}
	}
	o.MaxQueued = cmp.Or(o.MaxQueued, unlimited)
	l := &Lane{
		Owner: o, addr: addr, conn: newLink(conn, d.Timeout),
		in:   intake{buf: make([]byte, minReadBuffer), framer: resp.NewFramer(d.MaxReply)},
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
		reader: background, // so that an unused lane notices when the server hangs up
	}
	l.gauge.ID = rand.Uint64()
	l.restedAt.Store(int64(Now()))
	notify(l.wake)
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

// Enqueue puts the batch at the end of the lane's FIFO. It returns false, and
// leaves the batch alone, if the lane is closed, has limit batches in flight, or
// has as many bytes waiting to be written as [Owner].MaxQueued. A batch that finds nothing
// waiting is taken whatever its size.
//
// If the goroutine that will wait for the batch calls, own is set. It must then note the batch with
// [Call.Mine], and call Flush and Read. Any other goroutine must call [Lane.Flush] if it gets flush. The batch does
// not note that: its caller may use it for the next request before that goroutine looks at it again.
func (l *Lane) Enqueue(b *Batch, limit int, own bool) (ok, flush bool) {
	l.look()
	size := b.Size()
	l.mu.Lock()
	full := int(l.gauge.InFlight.Load()) >= limit || len(l.wbuf) > 0 && len(l.wbuf)+size > l.MaxQueued
	if full || l.state != open {
		l.mu.Unlock()
		return false, false
	}
	b.lane, b.start = l, l.handed+uint64(len(l.wbuf))
	for _, r := range b.runs {
		l.wbuf = append(l.wbuf, b.arena[r.from:r.to]...)
	}
	b.arena = nil
	l.queue.add(b)
	l.taken++
	l.gauge.InFlight.Add(1)
	if l.pace.armed.Load() {
		l.pace.armed.Store(false)
		b.began = Now()
	}
	l.waiting++
	flush = !l.writing && l.gatheredLocked()
	l.writing = l.writing || flush
	if own {
		b.flush = flush
	}
	wake := l.assignReaderLocked(b, own)
	l.mu.Unlock()
	if wake {
		notify(l.wake)
	}
	return true, flush
}

// assignReaderLocked gives b a claim on the role of the reader if nobody has
// it. An unused claim is lost to the background goroutine as soon as a second
// batch needs the lane: its caller may be held up on another lane.
func (l *Lane) assignReaderLocked(b *Batch, mayRead bool) (wake bool) {
	switch {
	case l.reader == nobody && mayRead && l.conn.keepsTime:
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
	if ok, _ := l.Enqueue(b, unlimited, true); ok {
		return true
	}
	l.mu.Lock()
	why := l.why
	l.mu.Unlock()
	b.Fail(l.addr, why)
	return false
}

// Abandon gives up waiting for the batch; see [Batch.Abandon].
func (l *Lane) Abandon(b *Batch, cause error) { b.Abandon(cause) }

// abandon settles under replyMu whether the batch is complete or abandoned.
func (l *Lane) abandon(b *Batch, cause error) {
	l.replyMu.Lock()
	if b.phase == underWay {
		b.phase = abandoned
		// What the lane still holds of it will be written sooner or later.
		b.fail(l.addr, cause, b.Len())
	}
	l.replyMu.Unlock()
	if b.flush { // the caller left before it wrote
		b.flush = false
		l.Flush()
	}
	b.leaveReading()
}

// A server may close idle connections (CONFIG SET timeout, CLIENT KILL), or a proxy may. A command
// that is written after that ends with an unknown outcome. If nobody reads from the lane, it does
// not notice, and a background reader may notice too late. So before the first batch after an idle
// time the lane asks its socket whether the other side has closed it: one system call. A busy lane
// makes no such call.
//
// Over TLS, the lane asks the socket below TLS. Bytes that are still to be read there hide the end.

// look fails an idle lane that is of no use.
func (l *Lane) look() {
	if l.gauge.InFlight.Load() > 0 || int64(Now())-l.restedAt.Load() < int64(idleLeast) {
		return
	}
	if gone := l.conn.socket.ended(); gone != nil {
		l.refuse(gone)
		go l.end() // which tells the pool, whose lock the caller may hold
	}
}

// Usable reports whether the lane takes batches. It asks the socket, as each first batch after an
// idle time does.
func (l *Lane) Usable() bool {
	l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == open
}

// Err returns why the lane has failed, nil if it has not. The connection is closed, or will be in a
// moment.
func (l *Lane) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state < failed {
		return nil
	}
	return l.why
}

// Watch makes the background goroutine listen on an idle lane, so that it
// notices at once when the server closes the connection, and gives back the
// memory that writes needed for something large.
func (l *Lane) Watch() {
	l.mu.Lock()
	wake := l.state < failed && l.reader == nobody
	if wake {
		l.reader = background
	}
	if l.gauge.InFlight.Load() == 0 && !l.writing {
		l.wbuf, l.spare = Kept(l.wbuf, minReadBuffer), Kept(l.spare, minReadBuffer)
	}
	l.mu.Unlock()
	if wake {
		notify(l.wake)
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

// Drain closes the lane because of err when nothing is in flight any more. Until then it takes
// no new batches, so no command's outcome becomes unknown. To look whether the lane is quiet and
// then to close it is not the same: a batch may come in between.
func (l *Lane) Drain(err error) {
	l.mu.Lock()
	if l.state == open {
		l.state, l.why = draining, err
	}
	idle := l.gauge.InFlight.Load() == 0
	l.mu.Unlock()
	if idle {
		l.Fail(err)
	}
}

// Fail closes the lane because of err. Batches in flight end with err as the
// cause: not sent, or with an unknown outcome, by command.
func (l *Lane) Fail(err error) {
	l.refuse(err)
	l.end()
}

// refuse makes the lane take nothing more, because of err. end must follow.
func (l *Lane) refuse(err error) {
	l.mu.Lock()
	l.failLocked(err)
	l.mu.Unlock()
}

// failLocked makes the lane take nothing more, because of err. It reports whether
// that was not so before; then end must be called.
func (l *Lane) failLocked(err error) (first bool) {
	if first = l.state < failed; first {
		l.state, l.why = failed, err
	}
	return first
}

// end closes the connection of a lane that has failed.
func (l *Lane) end() {
	l.mu.Lock()
	first := l.state == failed
	l.state = max(l.state, shut)
	l.mu.Unlock()
	if first {
		_ = l.conn.Close()
		notify(l.wake)
	}
	l.settle()
}

// settle ends all batches of a lane that is shut, once nobody reads or writes any
// more: until then, the count of bytes handed to the connection may still change,
// and replies may still arrive.
func (l *Lane) settle() {
	l.replyMu.Lock()
	l.mu.Lock()
	if l.state != shut || l.writing || l.reader == caller || l.reader == background {
		l.mu.Unlock()
		l.replyMu.Unlock()
		return
	}
	l.state, l.reader, l.claimant = settled, nobody, nil
	err, handed := l.why, l.handed
	last := &l.oldest
	for *last != nil {
		last = &(*last).next
	}
	*last = l.queue.head
	first := l.oldest
	l.oldest, l.queue, l.wbuf, l.spare = nil, fifo{}, nil, nil
	l.mu.Unlock()
	if first != nil && first.phase == underWay {
		first.phase = cutOff
	}
	for b := first; b != nil; b = b.next {
		if b.phase == underWay || b.phase == cutOff {
			b.fail(l.addr, err, b.handedAt(handed))
		}
	}
	l.replyMu.Unlock()
	for b := first; b != nil; {
		next := b.next
		b.next = nil
		l.gauge.InFlight.Add(-1)
		b.call.complete(b, Now())
		b = next
	}
	l.Events.Closed(l)
}

// A pace is how long a lane's replies take. One batch is timed now and then, when somebody has
// asked for it: to read the clock for each would cost more than to enqueue it.
type pace struct {
	armed    atomic.Bool  // the next batch is to be timed, see Answered
	usual    atomic.Int64 // the usual reply time, in nanoseconds; 0 before there is one
	shortest atomic.Int64 // the shortest reply time; 0 before there is one
}

// stop notes how long the batch took, which has all its replies. A shorter time than usual is the usual
// one from now on: the connection can do it. A longer one may be that of one slow command, and changes it
// by an eighth of the difference.
func (p *pace) stop(b *Batch, now time.Duration) {
	took := max(1, int64(now-b.began))
	if s := p.shortest.Load(); s == 0 || took < s {
		p.shortest.Store(took)
	}
	if usual := p.usual.Load(); usual != 0 && took > usual {
		took = usual + (took-usual)/replyShare
	}
	p.usual.Store(took)
}

// near reports whether a round trip may be short, as far as is known.
func (p *pace) near() bool {
	shortest := p.shortest.Load()
	return shortest > 0 && shortest < int64(nearRoundTrip)
}

// Answered returns how many batches have ended, and how long they usually take from their being enqueued to
// their last reply; 0 if none was timed yet. It makes the lane time the next batch that it takes.
func (l *Lane) Answered() (batches uint64, usual time.Duration) {
	l.pace.armed.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken - uint64(l.gauge.InFlight.Load()), time.Duration(l.pace.usual.Load())
}

// ForgetReplyTime makes the usual time unknown, after commands that took as long as their user liked.
func (l *Lane) ForgetReplyTime() { l.pace.usual.Store(0) }

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
