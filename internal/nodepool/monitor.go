package nodepool

import (
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

// A monitor is the lock of a pool together with what was decided under it and must
// be done without it: I/O, and calls of users' functions. There is no way to
// unlock that forgets it.
type monitor struct {
	mutex   sync.Mutex
	flushes []*wire.Lane             // lanes for which the goroutine that unlocks is the writer
	exits   []exit                   // connections that it is to close
	waits   []time.Duration          // that have ended
	tell    func(wait time.Duration) // of them; nil: nobody is told
	calls   []func()                 // of users' functions, about connections
}

// Lock takes the lock. Like that of a mutex, it must not be called by a goroutine
// that has it.
func (m *monitor) Lock() { m.mutex.Lock() }

// Unlock releases the lock, then writes what was given to lanes, closes the
// connections that leave, and tells of the waits that have ended and of
// connections. That is last: nobody's bytes wait for a user's function.
func (m *monitor) Unlock() { m.unlock(nil) }

// UnlockFor is Unlock by the goroutine that waits for the batch. What else it has to write is
// written before a user's function is called.
func (m *monitor) UnlockFor(b *wire.Batch) { m.unlock(b) }

func (m *monitor) unlock(own *wire.Batch) {
	if len(m.flushes)+len(m.exits)+len(m.waits)+len(m.calls) == 0 {
		m.mutex.Unlock()
		return
	}
	var fewLanes [8]*wire.Lane // more than that is no usual case, and may allocate
	var fewWaits [8]time.Duration
	flushes, waits, exits, calls := append(fewLanes[:0], m.flushes...), append(fewWaits[:0], m.waits...), m.exits, m.calls
	clear(m.flushes)
	m.flushes, m.waits, m.exits, m.calls = m.flushes[:0], m.waits[:0], nil, nil
	m.mutex.Unlock()
	if own != nil {
		own.FlushCall()
	}
	for _, lane := range flushes {
		lane.Flush()
	}
	for _, e := range exits {
		e.carryOut()
	}
	for _, wait := range waits {
		m.tell(wait)
	}
	for _, call := range calls {
		call()
	}
}

// noteWaitLocked notes a wait that has ended.
func (m *monitor) noteWaitLocked(wait time.Duration) {
	if m.tell != nil {
		m.waits = append(m.waits, wait)
	}
}

// giveLocked puts the batch on the lane. If that makes the caller the lane's
// writer, Unlock writes.
func (m *monitor) giveLocked(lane *wire.Lane, b *wire.Batch, limit int) (ok bool) {
	ok, flush := lane.Dispatch(b, limit)
	if flush {
		m.flushes = append(m.flushes, lane)
	}
	return ok
}

// What users' functions are told. The lock's owner calls them once it has unlocked.

// tellDialedLocked tells of an attempt to connect.
func (p *Pool) tellDialedLocked(took time.Duration, err error) {
	if p.Trace == nil || p.Trace.Dialed == nil {
		return
	}
	info := redislanes.DialInfo{Pool: p.Traced, Took: took, Err: err}
	p.mu.calls = append(p.mu.calls, func() { p.log.Call("Trace.Dialed", func() { p.Trace.Dialed(info) }) })
}

// tellClosedLocked tells of a connection that has ended because of err.
func (p *Pool) tellClosedLocked(m *member, err error) {
	if p.Trace == nil || p.Trace.ConnClosed == nil {
		return
	}
	info := redislanes.CloseInfo{Pool: p.Traced, Reason: closeReason(err), Err: err}
	p.mu.calls = append(p.mu.calls, func() { p.log.Call("Trace.ConnClosed", func() { p.Trace.ConnClosed(info) }) })
}
