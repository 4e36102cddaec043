package simnet

import (
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// window is how many bytes a writer may be ahead of its reader.
	window = 256 << 10

	// A write over limited bandwidth arrives in pieces of so many nanoseconds,
	// and minPiece bytes at least.
	pieceTime = int64(10 * time.Millisecond)
	minPiece  = 512

	// largeBuffer is what a stream keeps while it is empty.
	largeBuffer = 64 << 10

	never = math.MaxInt64
)

// clock returns the time in nanoseconds, which is virtual in a bubble.
func clock() int64 { return time.Now().UnixNano() }

// A mark says when the bytes up to some place arrive.
type mark struct {
	end uint64
	at  int64
}

// A stream is one direction of a connection. Its wire's mu guards it, but for the
// turns and channels. Time goes by for it whenever somebody looks at it.
type stream struct {
	wire *wire
	back *stream // the other direction
	way  Way

	buf   []byte // bytes that were sent and not taken
	off   int    // where they begin in it
	marks []mark // of those that have not arrived
	first int    // of the marks

	sent, arrived, taken uint64 // bytes of the stream

	busy     int64 // until when its own bandwidth is taken
	last     int64 // when all that was sent will have arrived
	fin      int64 // when the sender's end arrives, behind all bytes
	rst      int64 // when a reset arrives; what arrives later is lost
	forced   bool  // nothing holds the reset up
	finished bool  // the sender's end has arrived
	broken   bool  // the reset has arrived
	held     bool
	deaf     bool   // the reader has closed its end
	unheard  bool   // something arrives, or did, after that
	lost     bool   // nothing that is sent arrives any more
	limit    uint64 // where the connection is cut; 0 for nowhere

	readBy, writeBy int64

	reader, writer waiter
}

// A waiter is who reads or writes. turn holds a token while somebody does.
type waiter struct {
	turn    chan struct{}
	wake    chan struct{}
	timer   *time.Timer
	waiting bool
}

func (s *stream) init(w *wire, back *stream, way Way) {
	s.wire, s.back, s.way = w, back, way
	s.fin, s.rst, s.readBy, s.writeBy = never, never, never, never
	s.reader.init()
	s.writer.init()
}

func (w *waiter) init() {
	w.turn, w.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	w.timer = time.NewTimer(time.Hour)
	w.timer.Stop()
}

// arm makes the waiter look again at that time.
func (w *waiter) arm(now, at int64) {
	switch {
	case !w.waiting:
	case at <= now:
		select {
		case w.wake <- struct{}{}:
		default: // it has not looked since it was woken
		}
	case at == never:
		w.timer.Stop()
	default:
		w.timer.Reset(time.Duration(at - now))
	}
}

// wait is called without a lock, after waiting was set and the waiter armed.
func (w *waiter) wait() {
	select {
	case <-w.wake:
	case <-w.timer.C:
	}
}

// advanceLocked lets arrive what arrives by now.
func (s *stream) advanceLocked(now int64) {
	if s.broken {
		return
	}
	if !s.held {
		for by := min(now, s.rst); s.first < len(s.marks) && s.marks[s.first].at <= by; s.first++ {
			s.arrived = s.marks[s.first].end
		}
		if s.first == len(s.marks) {
			s.marks, s.first = s.marks[:0], 0
		}
		s.finished = s.finished || s.fin <= min(now, s.rst)
	}
	s.broken = s.rst <= now && (s.forced || !s.held)
}

// nextLocked returns when something will have arrived next.
func (s *stream) nextLocked() int64 {
	switch {
	case s.arrived > s.taken || s.finished || s.broken:
		return 0
	case s.held && s.forced:
		return s.rst
	case s.held:
		return never
	case s.first < len(s.marks):
		return min(s.marks[s.first].at, s.rst)
	}
	return min(s.fin, s.rst)
}

// readLocked takes bytes that have arrived, or returns why there will be none, or
// neither.
func (s *stream) readLocked(p []byte, now int64) (n int, err error) {
	s.advanceLocked(now)
	switch {
	case s.deaf:
		return 0, net.ErrClosed
	case s.readBy <= now:
		return 0, os.ErrDeadlineExceeded
	case s.arrived > s.taken:
		n = copy(p, s.buf[s.off:s.off+int(s.arrived-s.taken)])
		s.taken += uint64(n)
		s.off += n
		s.compact()
		if s.writer.waiting {
			s.writer.arm(now, 0)
		}
		return n, nil
	case s.finished:
		return 0, io.EOF
	case s.broken:
		return 0, os.NewSyscallError("read", syscall.ECONNRESET)
	}
	return 0, nil
}

func (s *stream) compact() {
	switch {
	case s.off == len(s.buf) && cap(s.buf) > largeBuffer:
		s.buf, s.off = nil, 0
	case s.off == len(s.buf):
		s.buf, s.off = s.buf[:0], 0
	case s.off > len(s.buf)/2 && s.off > 4<<10:
		s.buf, s.off = s.buf[:copy(s.buf, s.buf[s.off:])], 0
	}
}

// writeLocked sends what there is room for.
func (s *stream) writeLocked(p []byte, now int64) (n int, err error) {
	s.back.advanceLocked(now)
	switch {
	case s.back.deaf: // an end is closed for both directions
		return 0, net.ErrClosed
	case s.writeBy <= now:
		return 0, os.ErrDeadlineExceeded
	case s.back.broken:
		return 0, os.NewSyscallError("write", syscall.ECONNRESET)
	}
	n = min(len(p), window-int(s.sent-s.taken))
	if n > 0 {
		if s.way == ToServer {
			s.wire.used = now
		}
		idle := s.first == len(s.marks)
		s.sendLocked(p[:n], now)
		if idle {
			s.wakeReaderLocked(now)
		}
	}
	return n, nil
}

// sendLocked puts bytes on their way.
func (s *stream) sendLocked(p []byte, now int64) {
	if s.limit > 0 && s.sent+uint64(len(p)) >= s.limit {
		p = p[:s.limit-s.sent]
		defer s.cutLocked(now)
	}
	if s.lost {
		s.sent += uint64(len(p)) // it waits for room for ever
		return
	}
	if s.deaf {
		s.unheard = true
		s.rejectLocked(now, s.arrivalLocked(now, len(p)))
		return
	}
	piece := len(p)
	if b := s.wire.conditions.Bandwidth; b > 0 {
		piece = max(minPiece, int(int64(b)*pieceTime/int64(time.Second)))
	}
	s.buf = append(s.buf, p...)
	for len(p) > 0 {
		n := min(piece, len(p))
		s.sent += uint64(n)
		s.markLocked(s.arrivalLocked(now, n))
		p = p[n:]
	}
}

func (s *stream) markLocked(at int64) {
	if last := len(s.marks) - 1; last >= s.first && s.marks[last].at == at {
		s.marks[last].end = s.sent
		return
	}
	if s.first > 64 && s.first > len(s.marks)/2 {
		s.marks, s.first = s.marks[:copy(s.marks, s.marks[s.first:])], 0
	}
	s.marks = append(s.marks, mark{s.sent, at})
}

// arrivalLocked returns when n bytes that are sent now arrive.
func (s *stream) arrivalLocked(now int64, n int) int64 {
	c := &s.wire.conditions
	at := now
	if c.Bandwidth > 0 {
		s.busy = max(s.busy, at) + int64(n)*int64(time.Second)/int64(c.Bandwidth)
		at = s.busy
	}
	at += int64(c.Latency)
	if s.way == ToClient {
		at += s.wire.late
	}
	if c.Jitter > 0 {
		at += int64(s.wire.jitter.Uint64() % uint64(c.Jitter))
	}
	s.last = max(s.last, at)
	return s.last
}

// rejectLocked resets the sender's end because bytes arrive at a closed one.
func (s *stream) rejectLocked(now, arrival int64) {
	if s.held || s.back.rst != never {
		return // releaseLocked will see to it
	}
	s.back.rst = max(s.back.last, arrival+int64(s.wire.conditions.Latency))
	s.wire.pokeLocked(now)
}

// cutLocked resets both ends when the last byte before the limit arrives.
func (s *stream) cutLocked(now int64) {
	if s.held {
		return // releaseLocked will see to it
	}
	at := max(s.last, now)
	s.rst, s.back.rst = min(s.rst, at), min(s.back.rst, at)
	s.forced, s.back.forced, s.lost = true, true, true
	s.wire.pokeLocked(now)
}

// holdLocked holds up what has not arrived, or lets it go on.
func (s *stream) holdLocked(held bool, now int64) {
	s.advanceLocked(now)
	if s.held == held {
		return
	}
	s.held = held
	if held {
		return
	}
	at := now + int64(s.wire.conditions.Latency)
	for i := s.first; i < len(s.marks); i++ {
		s.marks[i].at = max(s.marks[i].at, at)
	}
	s.last = max(s.last, at)
	if s.fin != never {
		s.fin = max(s.fin, s.last)
	}
	if s.rst != never && !s.forced {
		s.rst = max(s.rst, at)
	}
	if s.limit > 0 && s.sent >= s.limit && !s.broken {
		s.cutLocked(now)
	}
	if s.unheard {
		s.rejectLocked(now, at)
	}
}

// hurryLocked lets what waits for bandwidth arrive: there is enough now.
func (s *stream) hurryLocked(now int64) {
	s.advanceLocked(now)
	at := now + int64(s.wire.conditions.Latency)
	for i := s.first; i < len(s.marks); i++ {
		s.marks[i].at = min(s.marks[i].at, at)
	}
	s.busy, s.last = 0, min(s.last, at)
	if s.fin != never {
		s.fin = min(s.fin, at)
	}
	if s.rst != never && !s.forced {
		s.rst = min(s.rst, at)
	}
}

// limitLocked puts a limit so many bytes ahead, or takes it back when it is not in
// force any more.
func (s *stream) limitLocked(inForce, fresh int) {
	switch {
	case inForce == 0 && s.limit > s.sent:
		s.limit = 0
	case fresh > 0:
		if at := s.sent + uint64(fresh); s.limit == 0 || at < s.limit {
			s.limit = at
		}
	}
}

// loseLocked loses what has not arrived, and all that will be sent.
func (s *stream) loseLocked(now int64) {
	s.advanceLocked(now)
	s.lost = true
	s.marks, s.first = s.marks[:0], 0
	s.buf = s.buf[:s.off+int(s.arrived-s.taken)]
	if !s.finished {
		s.fin = never
	}
	if !s.broken {
		s.rst = never
	}
}

func (s *stream) wakeReaderLocked(now int64) {
	if s.reader.waiting {
		s.reader.arm(now, min(s.readBy, s.nextLocked()))
	}
}

func (s *stream) wakeWriterLocked(now int64) {
	if s.writer.waiting {
		at := s.writeBy
		if s.back.forced || !s.back.held {
			at = min(at, s.back.rst)
		}
		s.writer.arm(now, at)
	}
}
