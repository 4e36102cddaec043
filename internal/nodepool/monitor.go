package nodepool

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A monitor is the lock of a pool together with what was decided under it and must
// be done without it: I/O, and calls of users' functions. There is no way to
// unlock that forgets it.
type monitor struct {
	mutex   sync.Mutex
	flushes []*wire.Lane // lanes for which the goroutine that unlocks is the writer
	then    []func()     // what else it is to do: close connections, and find lanes for batches
	calls   []func()     // of users' functions
}

// Lock takes the lock. Like that of a mutex, it must not be called by a goroutine
// that has it.
func (m *monitor) Lock() { m.mutex.Lock() }

// Unlock releases the lock, then writes what was given to lanes, closes the
// connections that leave, and calls users' functions. These are last: nobody's bytes wait for one.
func (m *monitor) Unlock() { m.UnlockFor(nil) }

// UnlockFor is Unlock by the goroutine that waits for the batch. What else it has to write is
// written before a user's function is called.
func (m *monitor) UnlockFor(own *wire.Batch) {
	if len(m.flushes)+len(m.then)+len(m.calls) == 0 {
		m.mutex.Unlock()
		return
	}
	var few [8]*wire.Lane // more than that is no usual case, and may allocate
	flushes, then, calls := append(few[:0], m.flushes...), m.then, m.calls
	clear(m.flushes)
	m.flushes, m.then, m.calls = m.flushes[:0], nil, nil
	m.mutex.Unlock()
	if own != nil {
		own.FlushCall()
	}
	for _, lane := range flushes {
		lane.Flush()
	}
	for _, do := range then {
		do()
	}
	for _, call := range calls {
		call()
	}
}

// giveLocked puts the batch on the lane. If that makes the caller the lane's
// writer, Unlock writes.
func (m *monitor) giveLocked(lane *wire.Lane, b *wire.Batch, limit int) (ok bool) {
	ok, flush := lane.Enqueue(b, limit, false)
	if flush {
		m.flushes = append(m.flushes, lane)
	}
	return ok
}

// What the log and users' functions are told. The lock's owner calls them once it has unlocked.

// noteLocked adds a line to the log, with the server's address and these values.
// The pools beside the main one see the same.
func (p *Pool) noteLocked(line guard.Line, values ...any) {
	if p.ended != nil {
		return
	}
	if p.beside() {
		line.Level = slog.LevelDebug
	}
	p.mu.calls = append(p.mu.calls, func() { p.log.Note(line, append([]any{p.addr}, values...)...) })
}

// tellWaitedLocked tells of a wait that has ended.
func (p *Pool) tellWaitedLocked(took time.Duration) {
	if p.Trace != nil && p.Trace.Waited != nil {
		p.callLocked("Trace.Waited", func() { p.Trace.Waited(p.Traced, took) })
	}
}

// callLocked has the user's function called.
func (p *Pool) callLocked(name string, call func()) {
	p.mu.calls = append(p.mu.calls, func() { p.log.Call(name, call) })
}

// tellDialedLocked tells of an attempt to connect.
func (p *Pool) tellDialedLocked(took time.Duration, err error) {
	if p.Trace != nil && p.Trace.Dialed != nil {
		p.callLocked("Trace.Dialed", func() { p.Trace.Dialed(p.Traced, took, err) })
	}
}

// tellClosedLocked tells of a connection that has ended because of err.
func (p *Pool) tellClosedLocked(err error) {
	if p.Trace != nil && p.Trace.ConnClosed != nil {
		p.callLocked("Trace.ConnClosed", func() { p.Trace.ConnClosed(p.Traced, closeReason(err), err) })
	}
}

var (
	errClosed  = fmt.Errorf("the pool is %w", redislanes.ErrClosed)
	errIdle    = errors.New("connection idle")
	errSlow    = errors.New("connection slow: replies took much longer than on others to this server")
	errUnclean = errors.New("connection changed by its user")
)

func closeReason(err error) string {
	for _, r := range []struct {
		err    error
		reason string
	}{
		{errIdle, "idle"}, {errUnclean, "unclean"}, {errRenewed, "renewed"}, {errAged, "aged"}, {cause.ErrStalled, "stalled"}, {errSlow, "stalled"},
		{redislanes.ErrClosed, "client"}, {cause.ErrRetired, "client"}, {wire.ErrClosed, "client"}, {io.EOF, "server"},
		{resp.ErrProtocol, "protocol"}, {os.ErrDeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return "io"
}
