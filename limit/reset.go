package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Reset forgets the hits that were counted for the key of the limit, in Redis and in this
// process. Then the full limit is available. It returns at the context's end at the latest.
// After an error it may be called again.
//
// Hits of calls at the same time are forgotten or not. Hits that were counted before, and are given back
// after it by a denied call or a lease, are allowed in addition to the limit. Near caches of other processes
// may deny the key for their budget, at most 100 ms.
func (l *Limiter) Reset(ctx context.Context, of *Limit, key string) error {
	switch {
	case !l.made():
		return errNotMade
	case !of.made():
		return errResetOfNone
	case ctx == nil:
		return errNilContext
	case !l.inside.Enter():
		return errClosed
	}
	defer l.inside.Leave()
	places := l.places(of, time.Now(), key)
	// Leases end first. Hits that a lease gets after DEL would stay counted, and nobody would use them.
	l.forget(of, key, places)
	p := l.pipe()
	defer l.unpipe(p)
	for _, at := range places {
		p.Cmd("DEL", at).Idempotent()
	}
	err := p.Do(ctx)
	l.forget(of, key, places) // what was heard meanwhile, too
	l.local.forget(&of.rule, key)
	if err != nil {
		return fmt.Errorf("limit: Reset of a key of limit %s: %w", of.rule.Name, err)
	}
	return nil
}

// places returns the keys in Redis: those of the window and its neighbours, since clocks differ. Those of a bucket are one.
func (l *Limiter) places(of *Limit, now time.Time, key string) (all []string) {
	n := of.number(of.windowAt(l.servers.at(now)))
	for _, n := range []int64{n - 1, n, n + 1} {
		name, _ := of.names(n, key)
		all = append(all, name)
	}
	return all
}

// forget forgets the server's word about the key, and ends its leases, of all limits that share their counts
// with the one that is reset. What a server has said before says nothing then.
func (l *Limiter) forget(of *Limit, key string, places []string) {
	hash := l.counts.hash(key)
	for _, c := range l.counts.all(func(c *count) bool { return c.hash == hash^c.limit.salt && c.limit.head == of.head }) {
		c.mu.Lock()
		if slices.Contains(places, c.name) {
			c.word, c.denied = word{}, denial{}
			c.resets++
			c.lease.Next()
		}
		if c.waiters != nil {
			c.waiters.change()
		}
		c.mu.Unlock()
	}
}

var errResetOfNone = errors.New("limit: the Limit is nil, or was not made by Rule.New: use one that it returned")
