// Package health judges whether a server is up, suspect or down, and which of its connections are
// slow. It is pure: no lock, timer, goroutine or I/O, and it never asks for the time. Its user tells a
// [Server] what has happened and when, and does what the Server says.
//
// A server is judged by two times: when it was last heard, and when it was last asked.
//
//   - If replies are due and it has been silent for SuspectAfter, it is asked over a new connection.
//     After an answer, it is asked again when the silence is twice as long.
//   - Without an answer in as long again, it is suspect and gets no new batches.
//   - After StallTimeout its connections are closed.
//   - It is down when no connection is left after a failure. Dials ask whether it is back.
//
// A byte or an answer ends a suspicion, but for bytes on lanes for slow commands: the other lanes may be
// dead. A dial that succeeds ends that a server is down.
//
// A connection is judged by one comparison. Its reply time is the usual one or, if that is longer,
// the age of its oldest batch. It is slow if that is more than four times the best of its siblings
// and more than 5 ms. Slow connections get no batches, so one without batches gets a PING at each
// look, and is back once it answers in time. If it stays slow for StallTimeout, it is replaced.
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
	state  State
	since  time.Time // the last state other than Up
	looked time.Time // when the last look was

	heard   time.Time     // when bytes of it or an answer were last seen to arrive
	asked   time.Time     // when it was asked; zero: no question is open
	answers uint          // to questions of the silence that lasts
	queued  time.Time     // since when callers have waited without a connection; zero: none do
	usual   time.Duration // its shortest usual reply time; 0: unknown

	failures int       // in a row: dials, proofs, stalls, and connections that died young
	joined   time.Time // when the first connection joined after the last of these; zero: none has
	failure  Failure   // why a dial has failed, since one succeeded
}

// New returns what is known at the beginning: nothing.
func New(l Limits) Server { return Server{Limits: l} }

// State returns what is known of the server.
func (s *Server) State() State { return s.state }

// Since returns when the last state other than Up began. A server that is down was
// silent before: it is the same outage.
func (s *Server) Since() time.Time { return s.since }

// HeardWithin reports whether the server was heard in the last d.
func (s *Server) HeardWithin(now time.Time, d time.Duration) bool { return now.Sub(s.heard) < d }

// Heard says that bytes of the server arrived, or an answer to a question. What is down stays so until
// a dial succeeds.
func (s *Server) Heard(now time.Time) {
	if !s.asked.IsZero() && s.answers < mostAnswers {
		s.answers++
	}
	s.heard, s.asked = now, time.Time{}
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
