package health

import "time"

// A Conn is what is known of one connection.
type Conn struct {
	progress uint64 // of its bytes, at the last look
	heard    Time   // when bytes were last seen to arrive
	waits    Time   // since when something has been in flight and no byte has arrived; 0: nothing is
	missed   bool   // a caller has given up on it since
}

// Start begins to watch a connection that joins or was given back.
func (s *Server) Start(c *Conn, now time.Time, progress uint64) {
	*c = Conn{progress: progress, heard: s.At(now)}
}

// Progressed reports whether bytes have arrived that no look has seen.
func (c *Conn) Progressed(progress uint64) bool { return c.progress != progress }

// Trust ends what is held against the connection.
func (c *Conn) Trust() { c.waits, c.missed = 0, false }

// Silence returns how long the connection had been silent at the last look.
func (s *Server) Silence(c *Conn) time.Duration {
	if c.waits == 0 {
		return 0
	}
	return time.Duration(s.clock.run - c.waits)
}

// WaitsSince returns since when the connection has been silent.
func (c *Conn) WaitsSince() Time { return c.waits }

// HeardSince reports whether bytes were seen to arrive since the given time.
func (c *Conn) HeardSince(t Time) bool { return c.heard > t }

// Missed notes that a caller has given up on a batch in flight. It reports whether the
// connection is in doubt at once.
func (s *Server) Missed(c *Conn, now time.Time, progress uint64) bool {
	c.missed = true
	return c.waits != 0 && !c.Progressed(progress) && time.Duration(s.At(now)-c.waits) >= s.doubtful()
}

// Doubts reports whether the connection has been silent for too long to be given to anybody.
func (s *Server) Doubts(c *Conn) bool {
	silence := s.Silence(c)
	return silence >= s.unusual() || c.missed && silence >= s.doubtful()
}

// Replaces reports whether a connection in doubt has been silent for a doubtful time itself.
// Other connections are in doubt only because another one fell silent.
func (s *Server) Replaces(c *Conn) bool { return c.missed || s.Silence(c) >= s.doubtful() }

// Stalls reports whether the connection has been silent for so long that it is to be
// closed, although the server answers elsewhere.
func (s *Server) Stalls(c *Conn) bool { return s.Silence(c) >= s.PauseTimeout }

// A Look is one look at all connections. See is called for each, then Judge.
type Look struct {
	s         *Server
	longest   time.Duration // silence
	roundTrip time.Duration // the shortest that has ended: all may have waited for the same thing
	heard     bool
}

// A Sight is what a look sees of a connection.
type Sight struct {
	Progress  uint64
	Unread    bool          // bytes have arrived that nobody has read yet: a busy process is late to do that
	InFlight  bool          // a reply is due; not so while a command on a dedicated connection may wait for data
	RoundTrip time.Duration // how long its last batch took; 0: none has ended
}

// Look begins a look.
func (s *Server) Look(now time.Time) Look {
	s.clock.look(now, s.LookEvery())
	return Look{s: s}
}

// See notes what the look sees of a connection. It reports whether bytes have arrived.
func (l *Look) See(c *Conn, saw Sight) (heard bool) {
	s := l.s
	switch heard = saw.Unread || c.Progressed(saw.Progress); {
	case heard:
		*c = Conn{progress: saw.Progress, heard: s.clock.run}
		l.heard = true
	case !saw.InFlight:
		c.Trust()
	}
	if saw.InFlight && c.waits == 0 {
		c.waits = s.clock.run
	}
	l.longest = max(l.longest, s.Silence(c))
	if saw.RoundTrip > 0 && (l.roundTrip == 0 || saw.RoundTrip < l.roundTrip) {
		l.roundTrip = saw.RoundTrip
	}
	return heard
}

// A Verdict says what is to be done.
type Verdict struct {
	Heard   bool // bytes have arrived
	Ask     bool // ask the server over a new connection
	Stalled bool // close the connections
}

// Dials is what a look sees of the connections that are wanted.
type Dials struct {
	Out     bool // a dial is under way
	Due     bool // the next one is set for later
	Joined  bool // there is a connection that no user has for itself
	Waiting bool // callers wait for a connection
}

// Judge ends the look. A dial counts as a question to the server if no connection is left that may
// be heard, and callers wait or the server is suspect. After a dial without an answer, it goes on
// counting until the next one begins.
func (l *Look) Judge(d Dials) (v Verdict) {
	s := l.s
	dials := (d.Out || d.Due && s.GaveUp()) && !d.Joined
	if l.roundTrip > 0 {
		s.RoundTrip(l.roundTrip)
	}
	if v.Heard = l.heard; v.Heard {
		s.Served()
		s.lives(s.clock.run)
	}
	s.grownUp(s.clock.run)
	switch {
	case !dials:
		s.dial = 0
	case s.dial == 0 && (d.Waiting || s.state == Suspect):
		s.dial = s.clock.run
	}
	if s.dial != 0 {
		l.longest = max(l.longest, time.Duration(s.clock.run-s.dial))
	}
	if l.longest == 0 {
		s.Served() // what was silent has left without a byte
	}
	if s.state != Down { // else dials ask
		v.Ask, v.Stalled = s.judge(min(l.longest, time.Duration(s.clock.run-s.heard)))
	}
	return v
}

// judge draws the conclusions from how long the whole server has been silent.
func (s *Server) judge(silence time.Duration) (ask, stalled bool) {
	since := time.Duration(s.clock.run - s.asked)
	switch {
	case s.asked == 0:
		ask = silence >= s.patience()
	case s.state == Up && silence < s.unusual():
		s.asked = 0 // what was silent was closed
	case s.state == Up && silence >= s.StallTimeout, since >= s.answerTime():
		ask = true
		if s.state == Up {
			s.state, s.since = Suspect, s.clock.looked.Add(-silence)
		}
	}
	if ask {
		s.asked = s.clock.run
	}
	return ask, s.state == Suspect && silence >= s.StallTimeout
}
