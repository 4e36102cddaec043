package health

import "time"

// The times and sizes by which a server is judged.
const (
	// unusualRoundTrips: a silence of so many usual round trips is unusual. Garbage
	// collection, a slow disk or a busy processor take less.
	unusualRoundTrips = 20

	// MinSilence is the shortest silence that is unusual.
	MinSilence = 250 * time.Millisecond

	// minDoubt is the shortest silence that puts a connection in doubt on which a
	// caller has given up. That caller's deadline has passed, so it may be shorter.
	minDoubt = 50 * time.Millisecond

	// LooksInSilence is how often a pool looks while a silence becomes unusual.
	LooksInSilence = 8

	// LeastLook is the least time between two looks of a pool: more would cost more
	// than they tell.
	LeastLook = time.Millisecond

	// LeastStallTimeout is the shortest StallTimeout in whose halves a pool that looks
	// every LeastLook looks often enough.
	LeastStallTimeout = 2 * LooksInSilence * LeastLook

	// A round trip is one part in roundTripShare of the usual one. It counts for roundTripLimit times
	// the usual one at most: one slow command changes little. A usual one below shortRoundTrip
	// counts as shortRoundTrip here.
	roundTripShare = 8
	roundTripLimit = 8
	shortRoundTrip = time.Millisecond

	// MaxDials bounds the dials at a time to one server, so that a failover does not
	// end in a storm of connections.
	MaxDials = 4

	// Youth is how long a connection must live to say nothing against its server when
	// it is closed. A proxy that reaps idle connections gives them seconds.
	Youth = 250 * time.Millisecond

	// SparedYoung is how many connections in a row may answer and die young before dials are
	// spaced: a restart of a server, or CLIENT KILL, is no lasting fault.
	SparedYoung = 8

	// PassingBackoff is the longest wait for a server that answers dials and refuses them for a
	// moment. It costs that server a connection and a few commands, one dial at a time.
	PassingBackoff = 100 * time.Millisecond

	// MostTimes is how many times its maximum of connections a pool may have while some
	// are in doubt: as many again may have to be replaced at once.
	MostTimes = 2
)

// Limits are the settings of a pool that are about its server's health.
type Limits struct {
	StallTimeout           time.Duration // silence of the server after which connections are closed
	PauseTimeout           time.Duration // the same for one connection of a server that answers elsewhere
	MinBackoff, MaxBackoff time.Duration // between dials
}

// LookEvery is how often the server is looked at while batches are in flight.
func (l Limits) LookEvery() time.Duration {
	return max(min(MinSilence, l.StallTimeout/2)/LooksInSilence, LeastLook)
}
