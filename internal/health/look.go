package health

import "time"

// A Look is one look at all connections of a pool. See is called for each, then Compare for those
// that are compared, then Judge.
type Look struct {
	s       *Server
	since   time.Duration // the last look, at most WatchEvery
	silence time.Duration // the longest of a connection
	usual   time.Duration // the shortest usual reply time; 0: none is known
	best    time.Duration // the shortest reply time of those that are compared; 0: none is known
	heard   bool
	answers bool // a batch has ended on one of those that are compared
	late    bool // a reply time is to be compared
	wonders bool // a connection may be slow, or the whole server
}

// A Sight is what a look sees of a connection.
type Sight struct {
	Progress uint64        // changes when bytes arrive
	Due      bool          // a reply is due; not so while a blocking command may wait for data
	Answered uint64        // batches
	Usual    time.Duration // usual reply time; 0: it has answered nothing yet
	Compared bool          // with its siblings
	Slow     bool          // it is for slow commands: bytes on it say nothing of the others
}

// Look begins a look.
func (s *Server) Look(now time.Time) Look {
	since := min(now.Sub(s.looked), WatchEvery)
	s.looked = now
	return Look{s: s, since: since}
}

// See notes what the look sees of a connection. It reports whether bytes have arrived. A batch
// ages by WatchEvery at most from one look to the next: a pause of the process hardly counts.
func (l *Look) See(c *Conn, saw Sight) (heard bool) {
	heard = c.progress != saw.Progress
	answered := c.answered != saw.Answered
	c.progress, c.answered = saw.Progress, saw.Answered
	c.age += l.since
	if answered || c.waits.IsZero() {
		c.age = 0 // the oldest batch may have been sent just now
	}
	if heard || c.waits.IsZero() {
		c.waits = l.s.looked
	}
	if !saw.Due {
		c.waits, c.age = time.Time{}, 0
	}
	l.heard = l.heard || heard && !saw.Slow
	l.silence = max(l.silence, l.s.Silence(c))
	if saw.Usual > 0 {
		l.usual = shorter(l.usual, saw.Usual)
	}
	if saw.Compared {
		c.known, c.reply = saw.Usual > 0, max(saw.Usual, c.age)
		l.late = l.late || Late(c.reply)
		l.answers = l.answers || answered
		if c.known {
			l.best = shorter(l.best, c.reply)
		}
	}
	return heard
}

// shorter returns the shorter time. 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// Heard reports whether bytes have arrived on a connection that is not for slow commands.
func (l *Look) Heard() bool { return l.heard }

// Compare notes whether the connection is slow. It reports whether that is new. A connection becomes slow only
// at a look at which the server has answered on one: what it did before says nothing of now.
func (l *Look) Compare(c *Conn) (changed bool) {
	was, is := c.Slow(), l.best > 0 && Slow(c.reply, l.best)
	if is && !was && !l.answers {
		l.wonders, is = true, false
	}
	switch {
	case is && !was:
		c.slow = l.s.looked
	case !is:
		c.slow = time.Time{}
	}
	return is != was
}

// Asks reports whether the connection is to be asked by a PING, if nothing is in flight on it: it is
// slow, or another one may be, which only an answer can tell. It is called when all have been compared.
func (l *Look) Asks(c *Conn) bool { return c.Slow() || l.wonders || l.late && !c.known }

// Best returns the shortest reply time of the connections; 0 if none is known.
func (l *Look) Best() time.Duration { return l.best }

// A Verdict says what is to be done about the server.
type Verdict struct {
	Ask     bool // ask it over a new connection, and over idle ones
	Stalled bool // close the connections
}

// Judge ends the look. dialling says that a dial is under way and there is no connection, waiting that
// callers wait for it. It is a question to the server then.
func (l *Look) Judge(dialling, waiting bool) (v Verdict) {
	s, now := l.s, l.s.looked
	if l.heard {
		s.Heard(now)
	}
	s.grownUp(now)
	s.usual = l.usual
	switch {
	case !dialling:
		s.queued = time.Time{}
	case waiting && s.queued.IsZero():
		s.queued = now
	}
	if !s.queued.IsZero() {
		l.silence = max(l.silence, now.Sub(s.queued))
	}
	if l.silence < s.SuspectAfter {
		s.answers = 0
	}
	silence := min(l.silence, now.Sub(s.heard))
	switch {
	case s.state == Down: // dials ask
	case s.state == Suspect:
		v = Verdict{Ask: now.Sub(s.asked) >= s.patience(), Stalled: silence >= s.StallTimeout}
	case silence == 0: // what was silent has left
		s.asked = time.Time{}
	case s.asked.IsZero():
		v.Ask = silence >= min(s.patience()<<s.answers, s.StallTimeout)
	case now.Sub(s.asked) >= s.patience():
		v.Ask = true
		s.state, s.since = Suspect, now.Add(-silence)
	}
	if v.Ask {
		s.asked = now
	}
	return v
}

// patience returns the silence after which the server is asked, and how long the answer may take.
func (s *Server) patience() time.Duration {
	return min(max(s.SuspectAfter, usualReplies*s.usual), s.StallTimeout)
}
