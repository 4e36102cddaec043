package engine

import (
	"time"
)

// The times of the package.
const (
	// The defaults of Config.RefreshEvery and Config.RetryWindow. Redirects and failures ask for
	// refreshes, so that regular ones may be rare. Most changes are over within that window.
	defaultRefreshEvery = 15 * time.Second
	defaultRetryWindow  = time.Second

	// LeastRefreshEvery bounds Config.RefreshEvery: each refresh dials a connection and asks
	// a server for all slots.
	LeastRefreshEvery = quickSpacing

	// refreshSpacing is the least time between two refreshes that hints of requests ask for,
	// so that a failover does not end in a storm of them.
	refreshSpacing = 500 * time.Millisecond

	// Some refreshes may follow each other after quickSpacing, for most of the default window
	// within which calls wait for a new owner: most changes are over in a moment. Up to
	// quickRefreshes are saved, one every quickEvery.
	quickSpacing = 50 * time.Millisecond
	quickEvery   = time.Second

	// refreshJitter bounds what chance adds to both spacings, so that clients do not ask at
	// the same time.
	refreshJitter = 50 * time.Millisecond

	// The pause after the first attempt of a client that starts before its servers are ready,
	// and the longest: a call or New then waits for a second at most once they are.
	minStartBackoff = 50 * time.Millisecond
	maxStartBackoff = time.Second

	// mapStagger is how long the next server is not asked for a map while an answer is out. A
	// map takes a large reply and may need a new connection.
	mapStagger = 500 * time.Millisecond

	// answersWait is how long a refresh waits for other servers once one has answered and cannot decide
	// alone.
	answersWait = time.Second

	// A node or Sentinel that has been silent, or has refused, for goneAfter has no say in the map any
	// more. A server without cluster mode is left sooner: it stands alone, and others wait beside it.
	goneAfter  = 10 * time.Second
	aloneAfter = time.Second

	// strangerTime is how long a node stays that a redirect has named and no map holds. It may
	// be about to get its first slot. If it is dead, this is remembered with it.
	strangerTime = 10 * time.Second

	// DrainTime bounds the wait for what is in flight at a node that leaves, and for calls
	// without an end of their own when Counters are closed. drainCheck is how often a node is
	// looked at meanwhile.
	DrainTime  = 5 * time.Second
	drainCheck = 10 * time.Millisecond
)

// The counts of the package.
const (
	// mostRedirects is how many redirects a command follows at once. Then it waits: nodes may
	// redirect in a circle while a slot moves.
	mostRedirects = 8

	// mostSyncs is how many callers of Sync may wait for the same refresh.
	mostSyncs = 64

	// quickRefreshes is how many quick refreshes may be saved, see quickSpacing.
	quickRefreshes = 10

	// maxStrangers bounds the nodes that only redirects have named: a server that invents
	// addresses must not make us open connections without end.
	maxStrangers = 64

	// largeTrip is from how many commands on a trip travels on lanes for slow commands,
	// whatever they are: it keeps a server busy for a millisecond.
	largeTrip = 1000

	// keptTrips is how many trips of earlier attempts a call keeps before it looks which of them
	// it still needs. Few calls have so many.
	keptTrips = 64
)

// The sizes of the package, in bytes.
const (
	// maxShownName bounds the name of a command that is not in the table and that traces show.
	// Longer ones are likely to be arguments at the wrong place, which traces must not show.
	maxShownName = 32
)
