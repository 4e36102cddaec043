package model

import (
	"slices"
	"time"
)

// A Session is one connection's state at a node. Its methods are for one
// goroutine at a time.
type Session struct {
	c        *Cluster
	n        *Node
	id       uint64
	out      reply
	taken    []byte // of what out had before, while it is written
	call     call
	name     string
	authed   bool
	asking   bool
	readOnly bool
	closing  bool

	multi   bool
	aborted bool // a command was refused while it was queued
	dirty   bool // a watched key has changed
	queue   []queued
	watched []watched

	channels []string     // that it listens to
	deliver  func([]byte) // messages that nobody has asked for
	close    func()       // what the server does to hang up at once
	dead     bool
}

type queued struct {
	cmd  *command
	args [][]byte
}

type watched struct {
	key     string
	expired bool // it was when WATCH came
}

// NewSession connects to the node. Messages that nobody has asked for, those of
// channels, go to deliver, which must not block or call methods of the model.
func (n *Node) NewSession(deliver func([]byte)) *Session {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.newSession(deliver)
}

func (n *Node) newSession(deliver func([]byte)) *Session {
	n.c.lastID++
	s := &Session{c: n.c, n: n, id: n.c.lastID, deliver: deliver}
	s.out.resp, s.out.dialect = 2, n.c.dialect
	s.call.s = s
	s.authed = n.password == ""
	n.sessions = append(n.sessions, s)
	return s
}

// Close ends the session.
func (s *Session) Close() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.end()
}

func (s *Session) end() {
	s.dead = true
	s.unwatch()
	s.n.sessions = slices.DeleteFunc(s.n.sessions, func(o *Session) bool { return o == s })
}

// Do runs a command and returns its reply, nil if there is none, which is valid
// until the next call, and whether the server hangs up then. It waits as long as
// the server lets the client wait. The args may be kept.
func (s *Session) Do(args [][]byte) (reply []byte, hangUp bool) {
	s.out.b = s.out.b[:0]
	for p := s.start(args); p != nil; {
		p = p.wait(nil)
	}
	return s.out.b, s.closing
}

// start runs a command, adds its reply to those that are not taken, and returns what to wait for if it has not ended.
func (s *Session) start(args [][]byte) *parked {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.startLocked(args)
}

func (s *Session) startLocked(args [][]byte) *parked {
	if s.dead {
		s.closing = true
		return nil
	}
	now := time.Now()
	s.n.settle(now)
	before := len(s.out.b)
	p := s.process(args, now)
	s.n.serveBlocked(now)
	if p == nil {
		s.interpose(args, before)
	}
	return p
}

// A parked command waits for something: a pause's end, or an element of a list.
type parked struct {
	s     *Session
	args  [][]byte
	keys  [][]byte
	until time.Time     // zero: for ever
	wake  chan struct{} // closed when there is something to see
	pop   func(*call) bool
	// What follows is guarded by the cluster's lock; the session's replies are not.
	done   bool  // it is answered
	hangUp bool  // after that
	out    reply // the answer
	// expire ends the wait: it writes the reply. If it is nil, the command starts again.
	expire func(*call)
}

// wait waits, and returns what else to wait for.
func (p *parked) wait(gone <-chan struct{}) *parked {
	var late <-chan time.Time
	if !p.until.IsZero() {
		timer := time.NewTimer(time.Until(p.until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.wake:
	case <-late:
	case <-gone:
	}
	s := p.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	select {
	case <-gone:
		if !p.done {
			s.n.forget(p)
			s.closing = true
		}
		return nil
	default:
	}
	switch {
	case s.dead:
		s.closing = true
	case p.done:
		s.out.b = append(s.out.b, p.out.b...)
		s.closing = p.hangUp
	case p.expire == nil:
		return s.startLocked(p.args)
	default:
		s.n.forget(p)
		s.call.reply = &s.out
		p.expire(&s.call)
	}
	return nil
}
