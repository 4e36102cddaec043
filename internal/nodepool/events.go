package nodepool

import (
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// WithTrace returns the settings of a pool whose user is told what happens in it. Its
// functions are given the info.
func WithTrace(c Config, t *redislanes.Trace, info *redislanes.PoolInfo) Config {
	return traced{c, t, info}
}

type traced struct {
	Config
	trace *redislanes.Trace
	info  *redislanes.PoolInfo
}

func (t traced) settings() (settings, error) {
	s, err := t.Config.settings()
	s.trace, s.info = t.trace, t.info
	return s, err
}

func (t traced) inCluster() Config { return traced{t.Config.inCluster(), t.trace, t.info} }

// Info returns what traces know the pool by; nil without a trace.
func (p *Pool) Info() *redislanes.PoolInfo { return p.info }

// listen makes the lock's owner tell of what somebody wants to be told of.
func (p *Pool) listen() {
	t := p.trace
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
	if p.trace != nil && p.trace.Waited != nil {
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
	p.trace.Waited(redislanes.WaitInfo{Pool: p.info, Took: wait})
	return nil
}

// A connEvent is an attempt to connect, or the end of a connection.
type connEvent struct {
	ended  bool
	began  time.Time     // of the attempt
	steps  wire.Steps    // likewise
	lasted time.Duration // of the attempt, or of the connection
	reason string        // for the end, as in Stats.Closes
	err    error         // why the attempt failed, or the connection ended
}

func (p *Pool) tellConn(e connEvent) { p.journal.Panicked(p.callOfConn(e)) }

func (p *Pool) callOfConn(e connEvent) (err error) {
	switch {
	case e.ended && p.trace.ConnClosed != nil:
		defer guard.Catch("Trace.ConnClosed", &err)
		p.trace.ConnClosed(redislanes.CloseInfo{Pool: p.info, Open: e.lasted, Reason: e.reason, Err: e.err})
	case !e.ended && p.trace.Dialed != nil:
		defer guard.Catch("Trace.Dialed", &err)
		p.trace.Dialed(redislanes.DialInfo{
			Pool: p.info, Began: e.began, Took: e.lasted, Err: e.err,
			Connect: e.steps.Connect, TLS: e.steps.TLS, Handshake: e.steps.Handshake,
		})
	}
	return nil
}
