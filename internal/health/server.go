// Package health judges whether a server is up, suspect or down, from what its
// connections and dials show. It is pure: no lock, timer, goroutine or I/O, and it
// never asks for the time. Its user tells a [Server] what has happened and when, and
// does what the Server says.
//
// It knows three things: the time at which the server was last heard, the time at
// which each open question was asked, and the last failure. A question is a batch in
// flight, a dial, a handshake or a probe. One rule says what counts as evidence:
//
//	A question that had no answer proves nothing if the server was heard after
//	the question was asked.
//
// A refusal is an answer, so it stands until a dial succeeds or nobody wants another
// connection. All times are of a [Clock] that stops while the process is frozen.
//
// Silence has stages. Each is a multiple of what is usual, see limits.go:
//
//   - A connection with batches in flight is in doubt after an unusual silence, or
//     sooner if a caller has given up on it (Missed). Bytes that nobody has read yet end a silence.
//   - A server that is silent everywhere is asked over a new connection.
//   - Without an answer in as long again, or in the time that an answer over a new
//     connection usually takes, it is suspect: no new batches.
//   - After StallTimeout its connections have stalled and are closed.
//
// A byte or an answer ends all of them. The server is down when no connection is left
// and there is evidence against it. Connections that wait for data do not count: their users may
// keep them for long. A dial that succeeds, or the return of such a connection, ends that.
package health

import "time"

// A State is what is known of a server.
type State uint8

// What a server is.
const (
	Up      State = iota // as far as is known
	Suspect              // silent, and a question was not answered: it gets no new batches
	Down                 // no connection serves callers, and none can be had: dials ask whether it is back
)

// A Server is what is known of the health of one server. It is for one goroutine at a
// time.
type Server struct {
	Limits
	clock Clock
	roundTrips

	state State
	since time.Time // the last state other than Up

	heard   Time // when the server was last heard
	asked   Time // when it was last asked because it is silent; 0: it is not
	dial    Time // since when callers have waited for a dial, with no connection left; 0: none do
	excused int  // questions that it has answered while connections were silent; each doubles the time to the next

	failures int // in a row: dials, proofs, stalls
	failure  Failure

	young  int  // connections in a row that were of use and died young
	joined Time // when the first connection joined after the last of these; 0: none has
}

// New returns what is known at the beginning: nothing. The first look is planned after
// the given time.
func New(l Limits, now time.Time, planned time.Duration) Server {
	return Server{Limits: l, clock: newClock(now, planned)}
}

// State returns what is known of the server.
func (s *Server) State() State { return s.state }

// Since returns when the last state other than Up began. A server that is down was
// silent before: it is the same outage.
func (s *Server) Since() time.Time { return s.since }

// At returns the time of an event between two looks.
func (s *Server) At(now time.Time) Time { return s.clock.at(now) }

// Looked returns when the last look was.
func (s *Server) Looked() time.Time { return s.clock.looked }

// Plan says how long after the last look the next one is due.
func (s *Server) Plan(next time.Duration) { s.clock.planned = next }

// Answers reports whether the server is up and no question of a silence is open.
func (s *Server) Answers() bool { return s.state == Up && s.asked == 0 }

// NeedsLook reports whether the server was heard at the last look, or is not known to answer.
func (s *Server) NeedsLook() bool { return s.heard >= s.clock.run || !s.Answers() }

// HeardSince reports whether the server was heard since the given time.
func (s *Server) HeardSince(t Time) bool { return s.heard > t }

// HeardWithin reports whether the server was heard in the last d, of the time that the process
// has run.
func (s *Server) HeardWithin(now time.Time, d time.Duration) bool {
	return s.heard > 0 && time.Duration(s.At(now)-s.heard) < d
}

// Heard says that bytes of the server arrived.
func (s *Server) Heard(now time.Time) {
	s.Served()
	s.lives(s.At(now))
}

// Served says that bytes have arrived since the server's last answer to a question: it makes
// no command wait any more.
func (s *Server) Served() { s.excused = 0 }

// Answered says that the server has answered a probe.
func (s *Server) Answered(now time.Time) {
	if s.asked != 0 {
		s.excused++
	}
	s.lives(s.At(now))
}

// lives ends all stages of a silence. What is down stays so until a dial succeeds.
func (s *Server) lives(at Time) {
	s.heard, s.asked = at, 0
	if s.state == Suspect {
		s.state = Up
	}
}

// lose opens the breaker because of the cause.
func (s *Server) lose(now time.Time, cause error) {
	if s.state == Up {
		s.since = now
	}
	s.state, s.failure.Err = Down, cause
}

// A Time is how long the process had run since its [Clock] was started. The zero Time
// is none.
type Time time.Duration

// A Clock measures the time that the process runs. Between two looks, it counts what was
// planned and, for a busy machine, a little more. Beyond that the process, or the whole
// machine, was frozen, which is no silence of the server: its replies may have arrived.
type Clock struct {
	run     Time      // at the last look
	looked  time.Time // when that was
	planned time.Duration
}

func newClock(now time.Time, planned time.Duration) Clock {
	return Clock{run: 1, looked: now, planned: planned}
}

// at returns the time of an event between two looks.
func (c *Clock) at(now time.Time) Time {
	return c.run + Time(min(max(0, now.Sub(c.looked)), c.planned))
}

// look moves the clock on. It counts slack beyond what was planned.
func (c *Clock) look(now time.Time, slack time.Duration) {
	c.run += Time(min(max(0, now.Sub(c.looked)), c.planned+slack))
	c.looked = now
}
