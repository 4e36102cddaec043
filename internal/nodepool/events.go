package nodepool

import (
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// Events are functions of a pool's user that are told what happens in it, without a
// lock held; each may be nil.
type Events struct {
	Waited func(wait time.Duration)
	Dialed func(DialInfo)
	Closed func(reason string, open time.Duration, err error)

	// Maker is for whoever makes the pool, who finds it again with [Pool.Maker].
	Maker any
}

// DialInfo is an attempt to connect that has ended.
type DialInfo struct {
	Began time.Time
	Took  time.Duration
	Steps wire.Steps
	Err   error
}

// Maker returns what Events had for the one who has made the pool.
func (p *Pool) Maker() any { return p.events.Maker }

// WithEvents returns the settings with the events told besides their own
// [Options.OnWait]. It is for those who make pools by settings of others.
func WithEvents(c Config, e Events) Config { return watched{c, e} }

type watched struct {
	Config
	events Events
}

func (w watched) settings() (settings, error) {
	s, err := w.Config.settings()
	s.events = w.events
	switch own, waited := s.OnWait, w.events.Waited; {
	case own == nil:
		s.OnWait = waited
	case waited != nil:
		s.OnWait = func(wait time.Duration) { own(wait); waited(wait) }
	}
	return s, err
}

func (w watched) inCluster() Config { return watched{w.Config.inCluster(), w.events} }

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
	case e.ended && p.events.Closed != nil:
		defer guard.Catch("ConnObserver.Closed", &err)
		p.events.Closed(e.reason, e.lasted, e.err)
	case !e.ended && p.events.Dialed != nil:
		defer guard.Catch("ConnObserver.Dialed", &err)
		p.events.Dialed(DialInfo{Began: e.began, Took: e.lasted, Steps: e.steps, Err: e.err})
	}
	return nil
}
