package limit

import (
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A place is a key in Redis: what the keys of a limit's window begin with, and what
// the user has said. The window comes first, so that no two keys can be the same.
type place struct{ head, key string }

func (p place) String() string { return p.head + p.key }

// heads are what the keys of a window begin with, and those of the one before. A
// limit remembers those of its last window, so that a hit need not make them.
type heads struct {
	number      int64 // of the window
	now, before string
}

func (l *Limit) heads(number int64) *heads {
	if h := l.recent.Load(); h != nil && h.number == number {
		return h
	}
	h := &heads{number, l.headOf(number), l.headOf(number - 1)}
	l.recent.Store(h)
	return h
}

func (l *Limit) headOf(number int64) string {
	return l.head + strconv.FormatInt(number, 36) + ":"
}

// made reports whether a Limiter has made the limit.
func (l *Limit) made() bool { return l != nil && l.head != "" }

// windows returns how many windows a hit needs to be counted in, or to be read from.
func (l *Limit) windows() int {
	if l.rule.Algorithm == SlidingWindow {
		return 2
	}
	return 1
}

// number returns the number of the window in the key. A bucket has one key for ever.
func (l *Limit) number(w window) int64 {
	if l.rule.Algorithm == TokenBucket {
		return 0
	}
	return w.number
}

// ends returns when the window of a lease ends. In the time that returns for a bucket, all of
// its tokens flow in.
func (l *Limit) ends(w window) time.Duration {
	if l.rule.Algorithm == TokenBucket {
		return time.Duration(min(float64(l.rule.burst())*l.rule.perToken(), float64(mostWindow)))
	}
	return w.left()
}

// hit returns a hit on the key, or a return of hits.
func (l *Limit) hit(w window, key string, by int64, budget time.Duration) pipeline.Hit {
	return pipeline.Hit{Prefix: l.heads(w.number).now, Key: key, By: by, Look: by == 0, TTL: w.ttl(l.windows(), budget)}
}

// appendHits appends a hit of so many on the key, and for a sliding window one that reads the
// window before. That is an INCRBY 0, which merges with the hits of others.
func (l *Limit) appendHits(hits []pipeline.Hit, w window, key string, by int64, budget time.Duration) []pipeline.Hit {
	hits = append(hits, l.hit(w, key, by, budget))
	if l.windows() == 2 {
		hits = append(hits, pipeline.Hit{Prefix: l.heads(w.number).before, Key: key, Look: true, TTL: w.ttl(1, budget)})
	}
	return hits
}
