package health

import "time"

// Trips are what is usual of a server.
type trips struct {
	usual     time.Duration // round trip of batches; 0: none has ended
	handshake time.Duration // the usual time of one; 0: there was none
}

// Trip notes how long a batch took.
func (t *trips) Trip(took time.Duration) { t.usual = blend(t.usual, took) }

// greeted notes how long a handshake took. A short one says at once what the server can do.
// A long one may have waited for a silent server, and counts as one slow command does.
func (t *trips) greeted(took time.Duration) {
	t.handshake = min(blend(t.handshake, took), max(took, 1))
}

// blend returns what is usual after one more, 0 if there was none.
func blend(usual, took time.Duration) time.Duration {
	if usual == 0 {
		return max(took, 1)
	}
	took = min(took, tripLimit*max(usual, time.Millisecond))
	return max(usual+(took-usual)/tripShare, 1)
}

// Usual returns the usual round trip of a batch. All of a handshake is sent at once, so
// it stands for one at the beginning; 0: unknown.
func (t *trips) Usual() time.Duration {
	if t.usual == 0 {
		return t.handshake
	}
	return t.usual
}

// unusual returns how long a silence is unusual. That of a dial is judged by
// handshakes or by batches, whichever are faster: slow commands say nothing of handshakes. Of a server that was never reached, nobody knows
// what is usual.
func (s *Server) unusual() time.Duration {
	usual := s.Usual()
	if s.dial != 0 {
		usual = min(usual, s.handshake)
	}
	if usual == 0 {
		return s.StallTimeout / 2
	}
	return min(max(MinSilence, unusualTrips*usual), s.StallTimeout/2)
}

// doubtful returns how long a silence puts a connection in doubt on which a caller has
// given up.
func (s *Server) doubtful() time.Duration {
	if usual := s.Usual(); usual > 0 {
		return min(s.unusual(), max(minDoubt, unusualTrips*usual))
	}
	return s.unusual()
}

// patience returns after which silence the server is asked: an unusual one, doubled for
// each question that it has answered since bytes arrived last or nothing was silent. It
// makes commands wait, then, and need not be asked all the time.
func (s *Server) patience() time.Duration {
	return min(s.unusual()<<min(s.excused, 16), s.StallTimeout/2)
}
