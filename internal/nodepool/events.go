package nodepool

import (
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// listen makes the lock's owner tell of what somebody wants to be told of.
func (p *Pool) listen() {
	t := p.Trace
	if p.OnWait != nil || t != nil && t.Waited != nil {
		p.mu.tell = p.tellWait
	}
	if t != nil && (t.Dialed != nil || t.ConnClosed != nil) {
		p.mu.told = p.tellConn
	}
}

func (p *Pool) tellWait(wait time.Duration) {
	if p.OnWait != nil {
		p.journal.Panicked(p.callOnWait(wait))
	}
	if p.Trace != nil && p.Trace.Waited != nil {
		p.journal.Panicked(p.callWaited(wait))
	}
}

func (p *Pool) callOnWait(wait time.Duration) (err error) {
	defer guard.Catch("Options.OnWait", &err)
	p.OnWait(wait)
	return nil
}

func (p *Pool) callWaited(wait time.Duration) (err error) {
	defer guard.Catch("Trace.Waited", &err)
	p.Trace.Waited(redislanes.WaitInfo{Pool: p.Traced, Took: wait})
	return nil
}

// A connEvent is an attempt to connect, or the end of a connection.
type connEvent struct {
	ended  bool
	began  time.Time      // of the attempt
	steps  wire.DialTimes // likewise
	lasted time.Duration  // of the attempt, or of the connection
	reason string         // for the end, as in Stats.Closes
	err    error          // why the attempt failed, or the connection ended
}

func (p *Pool) tellConn(e connEvent) { p.journal.Panicked(p.callOfConn(e)) }

func (p *Pool) callOfConn(e connEvent) (err error) {
	switch {
	case e.ended && p.Trace.ConnClosed != nil:
		defer guard.Catch("Trace.ConnClosed", &err)
		p.Trace.ConnClosed(redislanes.CloseInfo{Pool: p.Traced, Open: e.lasted, Reason: e.reason, Err: e.err})
	case !e.ended && p.Trace.Dialed != nil:
		defer guard.Catch("Trace.Dialed", &err)
		p.Trace.Dialed(redislanes.DialInfo{
			Pool: p.Traced, Began: e.began, Took: e.lasted, Err: e.err,
			Connect: e.steps.Connect, TLS: e.steps.TLS, Handshake: e.steps.Handshake,
		})
	}
	return nil
}
