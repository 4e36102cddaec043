package health

import "time"

// The times and counts by which a server and its connections are judged.
const (
	// LookEvery is how often a pool looks while batches are in flight.
	LookEvery = 5 * time.Millisecond

	// WatchEvery is how soon a pool looks by its clock while replies arrive, which make it look as well.
	WatchEvery = 25 * time.Millisecond

	// A reply time is slow if it is more than slowTimes the best one and more than slowLeast.
	slowTimes = 4
	slowLeast = 5 * time.Millisecond

	// usualReplies: a server is not asked before a silence of so many usual reply times.
	usualReplies = 8

	// lastReplies is how long a connection may take for its replies: without a byte while the server
	// answers elsewhere, or after it was replaced. A graceful failover makes writers wait for up to 5 s.
	lastReplies = 10 * time.Second

	// mostAnswers bounds how often the silence before a question is doubled.
	mostAnswers = 8

	// MaxDials bounds the dials at a time to one server, so that a failover does not
	// end in a storm of connections.
	MaxDials = 4

	// Youth is how long a connection must live to say nothing against its server when
	// it is closed. A proxy that reaps idle connections gives them seconds.
	Youth = 250 * time.Millisecond

	// SparedYoung is how many connections in a row may answer and die young before dials are
	// spaced: a restart of a server, or CLIENT KILL, is no lasting fault.
	SparedYoung = 8

	// MinBackoff and MaxBackoff bound the time between dials that fail.
	MinBackoff = 10 * time.Millisecond
	MaxBackoff = time.Second

	// PassingBackoff is the longest wait for a server that answers dials and refuses them for a
	// moment. It costs that server a connection and a few commands, one dial at a time.
	PassingBackoff = 100 * time.Millisecond
)

// Limits are the settings of a pool that are about its server's health.
type Limits struct {
	SuspectAfter time.Duration // silence of the server after which it is asked, and the time for its answer
	StallTimeout time.Duration // silence of the server, and slowness of a connection, after which connections are closed
}
