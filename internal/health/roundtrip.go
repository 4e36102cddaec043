package health

import "time"

// roundTrips are what is usual of a server.
type roundTrips struct {
	usual     time.Duration // round trip of batches; 0: none has ended
	handshake time.Duration // the usual time of one; 0: there was none
	connect   time.Duration // the usual time of a dial up to its handshake; 0: there was none
}

// RoundTrip notes how long a batch took.
func (t *roundTrips) RoundTrip(took time.Duration) { t.usual = blend(t.usual, took) }

// greeted notes how long a handshake took. A shorter one than usual is the usual one from now
// on. A longer one may have waited for a silent server, and counts as much as one slow command.
func (t *roundTrips) greeted(took time.Duration) {
	t.handshake = min(blend(t.handshake, took), max(took, 1))
}

// Connected notes how long a dial took up to its handshake: a name has to be looked up, TLS to be
// agreed on. A shorter time than usual counts more than a longer one, which may have waited for a
// lost packet.
func (t *roundTrips) Connected(took time.Duration) {
	if t.connect > took {
		t.connect = (t.connect + took) / 2
		return
	}
	t.connect = blend(t.connect, took)
}

// blend returns what is usual after one more, 0 if there was none.
func blend(usual, took time.Duration) time.Duration {
	if usual == 0 {
		return max(took, 1)
	}
	took = min(took, roundTripLimit*max(usual, shortRoundTrip))
	return max(usual+(took-usual)/roundTripShare, 1)
}

// Usual returns the usual round trip of a batch, or of a handshake before the first batch: all
// of a handshake is sent at once. 0 means unknown.
func (t *roundTrips) Usual() time.Duration {
	if t.usual == 0 {
		return t.handshake
	}
	return t.usual
}

// unusual returns how long a silence must last to be unusual. The silence of a dial is judged by
// handshakes or by batches, whichever are faster: slow commands say nothing about handshakes.
// For a server that was never reached it is half of StallTimeout.
func (s *Server) unusual() time.Duration {
	usual := s.Usual()
	if s.dial != 0 {
		usual = min(usual, s.handshake)
	}
	if usual == 0 {
		return s.StallTimeout / 2
	}
	return min(max(MinSilence, unusualRoundTrips*usual), s.StallTimeout/2)
}

// answerTime returns how long the answer to a question over a new connection may take: an unusual
// silence, or twice as long as it usually takes to connect.
func (s *Server) answerTime() time.Duration { return max(s.unusual(), 2*s.connect) }

// doubtful returns how long a connection must be silent to be in doubt once a caller has given
// up on it.
func (s *Server) doubtful() time.Duration {
	if usual := s.Usual(); usual > 0 {
		return min(s.unusual(), max(minDoubt, unusualRoundTrips*usual))
	}
	return s.unusual()
}

// patience returns after which silence the server is asked: an unusual one, doubled for each
// question that it has answered since bytes last arrived, or since nothing was silent. A
// server that answers makes commands wait on purpose, and need not be asked all the time.
func (s *Server) patience() time.Duration {
	unusual, times, most := s.unusual(), min(s.excused, 16), s.StallTimeout/2
	if unusual > most>>times { // doubled without an overflow
		return most
	}
	return unusual << times
}
