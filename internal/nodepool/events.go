package nodepool

import (
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

// What users' functions are told. The lock's owner calls them once it has unlocked.

func (p *Pool) tellWait(wait time.Duration) {
	p.journal.Call("Trace.Waited", func() { p.Trace.Waited(redislanes.WaitInfo{Pool: p.Traced, Took: wait}) })
}

// tellDialedLocked tells of an attempt to connect.
func (p *Pool) tellDialedLocked(began time.Time, took time.Duration, steps wire.DialTimes, err error) {
	if p.Trace == nil || p.Trace.Dialed == nil {
		return
	}
	info := redislanes.DialInfo{
		Pool: p.Traced, Began: began, Took: took, Err: err,
		Connect: steps.Connect, TLS: steps.TLS, Handshake: steps.Handshake,
	}
	p.mu.calls = append(p.mu.calls, func() { p.journal.Call("Trace.Dialed", func() { p.Trace.Dialed(info) }) })
}

// tellClosedLocked tells of a connection that has ended because of err.
func (p *Pool) tellClosedLocked(m *member, err error) {
	if p.Trace == nil || p.Trace.ConnClosed == nil {
		return
	}
	info := redislanes.CloseInfo{Pool: p.Traced, Open: time.Since(m.born), Reason: closeReason(err), Err: err}
	p.mu.calls = append(p.mu.calls, func() { p.journal.Call("Trace.ConnClosed", func() { p.Trace.ConnClosed(info) }) })
}
