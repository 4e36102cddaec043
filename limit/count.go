package limit

import (
	"math"
	"sync"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// A count is what this process knows of one key of a limit: the server's last word in this window, the
// hits that wait for the next one, and the lease. Few hits on a key travel alone. Others wait, and travel as one
// command; near the limit all do, one delivery after the other.
type count struct {
	limit *Limit
	hash  uint64 // 0: it is not remembered
	long  int    // bytes of the user's key
	used  bool   // lately; its shard's lock guards it

	// What most decisions read comes first, side by side: they cost few cache misses then.
	resets  int32 // how often the key was reset: what a server said before says nothing
	mu      sync.Mutex
	number  int64  // of the window; the rest is about it
	name    string // the key in Redis, which ends with the user's key; before the first window, only that
	word    word
	asked   time.Duration // when the last delivery left
	travels int32         // deliveries that are under way
	carried bool          // a goroutine sends what waits
	late    bool          // a look is under way for callers that have left
	watched bool          // a timer looks at the lease
	lease   lease.Lease   // the hits that the limiter has reserved in this window
	waiting []*hit
	before  string // of a sliding window, the key in Redis of the window before
	denied  denial
	waiters *queue // of Wait
}

func newCount(limit *Limit, key string) *count {
	return &count{limit: limit, long: len(key), name: key, number: math.MinInt64}
}

// key returns the user's key. The count is locked.
func (c *count) key() string { return c.name[len(c.name)-c.long:] }

// is reports whether the count is about the limit's key. It is locked.
func (c *count) is(limit *Limit, key string) bool { return c.limit == limit && c.key() == key }

// A word is what a server has said about a key.
type word struct {
	at     time.Duration // when it was asked; 0: nothing is known
	used   int64         // hits in the window
	before int64         // hits in the window before
	full   time.Duration // from then on until the bucket is full
	doubt  bool          // the key may be there without an end
}

// room returns how many hits fit, by a word about the window. If nothing is known about the key, the whole limit does.
func (l *Limit) room(x *word, w window.Window, now time.Duration) int64 {
	switch {
	case x.at == 0:
		return l.rule.burst()
	case l.rule.Algorithm == TokenBucket:
		return l.bucket.Remaining(x.full - (now - x.at))
	case l.rule.Algorithm == SlidingWindow:
		return l.rule.Quota - plus(x.used, w.Share(x.before))
	}
	return l.rule.Quota - x.used
}

// retry returns when a hit of the cost may be allowed that a word denies.
func (l *Limit) retry(x *word, w window.Window, now time.Duration, cost int64) time.Duration {
	switch {
	case cost > l.rule.burst():
		return Never
	case l.rule.Algorithm == TokenBucket:
		return max(1, l.bucket.RetryAfter(x.full-(now-x.at), cost))
	case l.rule.Algorithm == FixedWindow:
		return w.Left()
	}
	if room := l.rule.Quota - x.used - cost; room >= 0 {
		return max(1, w.UntilShareIs(x.before, room)-w.Elapsed)
	}
	return w.Left() + w.UntilShareIs(x.used, l.rule.Quota-cost)
}

// reset returns when no hit that a word knows of counts any more.
func (l *Limit) reset(x *word, w window.Window, now time.Duration) time.Duration {
	switch l.rule.Algorithm {
	case TokenBucket:
		return max(0, x.full-(now-x.at))
	case SlidingWindow:
		return w.Left() + w.Length
	}
	return w.Left()
}

// roll begins the window, if it is a later one, and reports whether the count is about it. The count is locked.
func (c *count) roll(w window.Window, now time.Duration) (ok bool) {
	number := c.limit.number(w)
	if number > c.number {
		c.number, c.word, c.denied = number, word{}, denial{}
		c.name, c.before = c.limit.names(number, c.key())
		c.lease.Next()
	}
	c.lease.Expire(now)
	return c.number == number
}

// free returns how many hits fit, with those of the lease, if a word has this room. The count is locked.
func (c *count) free(room int64) int64 {
	return min(max(0, room)+c.lease.Left(), c.limit.rule.burst())
}

// A denial is when a key was denied first, and what the server said then.
type denial struct {
	at         time.Duration
	used, room int64
}

// retryAfter returns when a hit of the cost may be allowed that is denied. If a lease of another process may have what
// is missing, that may come back sooner than a window ends, but no later than idleLong after no lease was granted any
// more: the key had too few hits left, or no more were counted. The count is locked.
func (c *count) retryAfter(x *word, w window.Window, now time.Duration, cost int64) time.Duration {
	of := c.limit
	t, room := of.retry(x, w, now, cost), max(0, of.room(x, w, x.at))
	if t == Never || !of.leases || cost-room > of.rule.burst()/lease.Share {
		return t
	}
	again := c.denied.room >= lease.Smallest && x.used > c.denied.used
	if of.rule.Algorithm == TokenBucket {
		again = now-c.denied.at > of.bucket.Flow(lease.Smallest)+idleLong
	}
	if again || c.denied.at == 0 {
		c.denied = denial{now, x.used, room}
	}
	if back := idleLong - (now - c.denied.at); back > 0 {
		t = min(t, back)
	}
	return t
}
