package nodepool

import "time"

// A server is judged by what its connections show, in stages. A connection is
// silent when batches are in flight on it and no byte has arrived for an unusual
// time: it is in doubt then (doubt.go), and replaced. A server that is
// silent on all connections is asked over a new one. If it does not answer in as
// long again it is suspect: it gets no new batches, and what is in flight stays.
// If the silence lasts for the stall timeout, its connections are closed. One
// byte, or an answer, ends all of it.

const (
	// Silence is unusual from so many usual round trips on, but not before
	// minSilence: garbage collection, a slow disk or a busy processor take less.
	unusualTrips = 20
	minSilence   = 250 * time.Millisecond

	// Where a caller has given up on a connection, a silence of so many usual round
	// trips is enough to doubt the connection, but not less than minDoubt.
	minDoubt = 50 * time.Millisecond

	// looksInSilence is how often the pool looks while a silence becomes unusual.
	looksInSilence = 8

	// A round trip counts for one part in tripShare of the usual one, and for
	// tripLimit times the usual one at most: one slow command is nothing usual.
	tripShare = 8
	tripLimit = 8
)

type stage uint8

const (
	answers stage = iota // or nothing is in flight
	asked                // over another connection
	suspect              // and has not answered
)

// A watch is what the pool knows of the server's silence, and judges it. Time is
// what has passed between looks.
type watch struct {
	stallTimeout time.Duration

	stage      stage
	quiet      time.Duration // since the server last showed life
	unanswered time.Duration // since it was asked; unless stage is answers
	questioned time.Duration // since the last question
	excused    int           // questions that it has answered while connections were silent

	usual time.Duration // round trip; 0: unknown
	timed bool          // usual is of batches, not of a handshake

	greeted  time.Duration // how long the last handshake took; 0: unknown
	unjoined bool          // there is no connection, and the silence is that of a dial
}

// A verdict says what is to be done.
type verdict struct {
	ask     bool // ask the server over a new connection
	suspect bool // it has become suspect
	stalled bool // close the connections
}

// unusual returns how long a silence is unusual. Of a server that has never been
// reached, nobody knows what is usual.
func (w *watch) unusual() time.Duration {
	usual, known := w.usual, w.usual > 0 || w.timed
	if w.unjoined { // slow commands say nothing of handshakes
		usual, known = w.greeted, w.greeted > 0
	}
	if !known {
		return w.stallTimeout / 2
	}
	return min(max(minSilence, unusualTrips*usual), w.stallTimeout/2)
}

// doubtful returns how long a silence puts a connection in doubt on which a caller has
// given up.
func (w *watch) doubtful() time.Duration {
	doubtful := w.unusual()
	if w.usual > 0 || w.timed {
		doubtful = min(doubtful, max(minDoubt, unusualTrips*w.usual))
	}
	return doubtful
}

// patience returns after which silence the server is asked: an unusual one,
// doubled for each question that it has answered since bytes arrived last. It
// makes commands wait, then, and need not be asked all the time.
func (w *watch) patience() time.Duration {
	return min(w.unusual()<<min(w.excused, 16), w.stallTimeout/2)
}

// look judges the server. Since the last look passed has passed, and waited is
// the longest that a connection with batches in flight has been silent.
func (w *watch) look(passed, waited time.Duration) (v verdict) {
	w.quiet += passed
	w.unanswered += passed
	w.questioned += passed
	silence := min(waited, w.quiet)
	switch {
	case w.stage == answers && silence >= w.patience():
		w.stage, w.unanswered, v.ask = asked, 0, true
	case w.stage == asked && silence < w.unusual():
		w.stage = answers // what was silent was closed
	case w.stage == asked && w.unanswered >= w.unusual(), w.stage == asked && silence >= w.stallTimeout:
		w.stage, v.suspect = suspect, true
	}
	v.ask = v.ask || w.stage != answers && w.questioned >= w.unusual()
	if v.ask {
		w.questioned = 0
	}
	v.stalled = w.stage == suspect && silence >= w.stallTimeout
	return v
}

// heard says that bytes of the server arrived. It reports whether that ends a
// suspicion.
func (w *watch) heard() (cleared bool) {
	w.served()
	return w.lives()
}

// served says that bytes of the server have arrived at some time since its last answer to a
// question: it makes nobody wait any more.
func (w *watch) served() { w.excused = 0 }

// answered says that the server has answered a question, or a dial.
func (w *watch) answered() (cleared bool) {
	if w.stage != answers {
		w.excused++
	}
	return w.lives()
}

func (w *watch) lives() (cleared bool) {
	cleared = w.stage == suspect
	w.stage, w.quiet, w.unanswered = answers, 0, 0
	return cleared
}

// trip notes how long a batch took.
func (w *watch) trip(took time.Duration) {
	if !w.timed {
		w.usual, w.timed = took, true
		return
	}
	took = min(took, tripLimit*max(w.usual, time.Millisecond))
	w.usual += (took - w.usual) / tripShare
}

// dialled notes how long a handshake took, the only round trip that is known at the
// beginning: all of it is sent at once.
func (w *watch) dialled(took time.Duration) {
	w.greeted = max(took, 1)
	if !w.timed {
		w.usual = max(took, 1)
	}
}
