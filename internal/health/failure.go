package health

import "time"

// A Kind says what a failure is.
type Kind uint8

// What a failure is.
const (
	Refused Kind = iota // no answer in time, or the server's host has refused
	Passing             // the server itself has refused, since it runs a script or loads its data
	ForGood             // the same, and it is unlikely to change its mind
)

// A Failure is a dial, or the proof behind it, that failed, or a connection that has stalled.
type Failure struct {
	Kind Kind
	Err  error
}

// Failure returns the last failure: Err is why a server is down, nil if nothing has failed
// since a dial succeeded.
func (s *Server) Failure() Failure { return s.failure }

// Against reports whether there is evidence against the server.
func (s *Server) Against() bool { return s.state != Up || s.failure.Err != nil }

// Failed notes that a dial has failed. conns is the number of connections, without those that wait for
// data. The server is down if conns and dials are 0.
func (s *Server) Failed(now time.Time, f Failure, conns, dials int) {
	s.count(f)
	if conns+dials == 0 {
		s.lose(now, f.Err)
	}
}

func (s *Server) count(f Failure) {
	s.failures++
	s.joined, s.failure = time.Time{}, f
}

// Dialled notes that a connection was had. Dials that failed before are no reason to space the next ones.
func (s *Server) Dialled(now time.Time) {
	s.Heard(now)
	if s.failures > 0 && s.joined.IsZero() {
		s.joined = now
	}
	if s.failure.Err != nil {
		s.failures = 1 // the next connections have to prove themselves
	}
	s.state, s.failure = Up, Failure{}
}

// Unwanted says that nobody wants another connection. Earlier failures then say nothing about
// later dials.
func (s *Server) Unwanted() {
	if s.state != Down {
		s.failures, s.failure = 0, Failure{}
	}
}

// Returned notes that a connection no longer waits for data. The server is not down then.
func (s *Server) Returned() {
	if s.state == Down {
		s.state = Up
	}
}

// DiedYoung counts a connection that was closed before it reached Youth, though not by the pool or
// its user. The next ones have to prove themselves: a server that evicts its clients, or a balancer
// without a server behind it, completes the handshake and hangs up.
func (s *Server) DiedYoung(now time.Time) {
	s.grownUp(now)
	s.count(s.failure)
}

// grownUp ends the row of failures if a connection has joined since and reached Youth before another one died.
func (s *Server) grownUp(now time.Time) {
	if !s.joined.IsZero() && now.Sub(s.joined) >= Youth {
		s.failures, s.joined = 0, time.Time{}
	}
}

// Lost notes that a connection has ended, and why. conns is the number of the others, without those
// that wait for data. The server is down if conns is 0 and there is evidence against it, also if it
// was suspect. From then on dials ask whether it is back.
func (s *Server) Lost(now time.Time, stalled bool, err error, conns int) {
	switch {
	case stalled:
		s.count(Failure{Err: err})
	case s.failure.Err != nil:
		err = s.failure.Err // why it cannot be dialled says more than how a connection ended
	}
	if conns == 0 && s.Against() {
		s.lose(now, err)
	}
}

// Spaced reports whether dials are to be spaced although they succeed.
func (s *Server) Spaced() bool { return s.failures > SparedYoung }

// Dials returns how many dials may be out at a time. While there is evidence against the
// server, one asks whether it is back.
func (s *Server) Dials() int {
	if s.Against() || s.Spaced() {
		return 1
	}
	return MaxDials
}

// MustProve reports whether a new connection has to answer a PING before anybody is given
// it.
func (s *Server) MustProve(now time.Time) bool {
	s.grownUp(now)
	return s.failures > 0
}

// Backoff returns the bounds of the random time until the next dial. The upper bound is
// MinBackoff, doubled for every failure in a row but the first. While the server is down, it is at
// most half of the time that it has been down.
// A server that is there and says that it is busy is asked again within PassingBackoff. One that
// refuses for good, because of a wrong password, is asked slowly. Source: M. Brooker, "Exponential
// Backoff and Jitter", AWS Architecture Blog, 2015.
func (s *Server) Backoff(now time.Time) (least, most time.Duration) {
	most = min(MinBackoff<<min(max(s.failures-1, 0), 10), MaxBackoff)
	if s.state == Down {
		most = min(most, max(MinBackoff, now.Sub(s.since)/2))
	}
	switch s.failure.Kind {
	case ForGood:
		return MaxBackoff / 2, MaxBackoff
	case Passing:
		most = min(most, PassingBackoff)
	}
	return 0, most
}
