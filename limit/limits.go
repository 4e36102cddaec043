package limit

import (
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// The times of the package.
const (
	// The default of Config.Budget, and its bounds beside the least that every setting has.
	defaultBudget = 100 * time.Millisecond
	mostBudget    = time.Hour

	// leastWindow and mostWindow bound Rule.Window. mostRefill is the longest time that a bucket
	// may need until it is full.
	leastWindow = 100 * time.Millisecond
	mostWindow  = 366 * 24 * time.Hour
	mostRefill  = 100 * 365 * 24 * time.Hour

	// slack is how much longer than a window and the budget its key lives, since the
	// clocks of processes differ.
	slack = 5 * time.Second

	// idleLong is how long a lease keeps hits that nobody uses, at most, and then some for giving them back.
	idleLong = lease.SlowTick + lease.SlowTick/8

	// returnTime is how long one return may take. Its outcome should become known: if it does
	// not, the hits stay counted.
	returnTime = 10 * time.Second

	// leastPause is when a settlement that fails is sent again at first.
	leastPause = 5 * time.Millisecond

	// lull is how long Wait waits at most before it asks for the next callers: those that were just let go may
	// come again.
	lull = 10 * time.Millisecond

	// readEvery is how often the clock of each server is read, and how long that may take.
	readEvery = 5 * time.Second
)

// The counts of the package.
const (
	// mostLimit bounds Rule.Quota, far from where Redis' counters overflow, and mostTokens a
	// bucket's Quota and Burst.
	mostLimit  int64 = 1_000_000_000_000
	mostTokens int64 = 1_000_000_000

	// spread is the part of a window by which keys live longer, at most, so that those
	// of all users do not expire at once.
	spread = 10

	// fewRequests is how many requests of a call are looked through for others on the same key. If
	// there are more, a map finds them.
	fewRequests = 32
)

// The sizes of the package's memory, in entries, and of names and keys in bytes.
const (
	// longestName bounds Rule.Name.
	longestName = 64

	// longKey is the length of the longest key that is remembered, so that the memory has a bound.
	longKey = 256

	// The default of Config.NearCache, and its bound. nearShards is over how many locks it is
	// spread.
	defaultNear = 50_000
	mostNear    = 10_000_000
	nearShards  = 64

	// localKeys bounds how many keys have a bucket of this process at a time. A key that gives
	// way to another one gets a full bucket when it comes again.
	localKeys = 100_000

	// mostWaiting is how many callers of Wait may wait for a key.
	mostWaiting = 10_000

	// mostRules is how many rules of requests are remembered.
	mostRules = 10_000

	// largeCall bounds the memory that a call leaves to the next one, in requests.
	largeCall = 256
)
