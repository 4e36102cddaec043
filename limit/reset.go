package limit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"
)

// Reset forgets the hits that were counted for the key of the limit, in Redis and in this
// process. Then the full limit is available. It returns at the context's end at the latest.
// After an error it may be called again.
//
// Calls at the same time, and other processes, may see it late:
//
//   - Hits of a call that runs at the same time are forgotten or not.
//   - Hits that were counted before the Reset and are given back after it, by a denied call or
//     a lease, are allowed in addition to the limit.
//   - The near caches of other processes may still deny the key: for their budget, at most 100 ms,
//     or with CountDenied until the window ends or the tokens have flowed in.
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
	now := time.Now()
	places := l.places(of, now, key)
	shares := func(other *Limit) bool { // also limits with windows of nearly the same length
		return other.head == of.head && slices.ContainsFunc(l.places(other, now, key), func(at place) bool { return slices.Contains(places, at) })
	}
	// Leases stop first. A return that runs after DEL would allow its hits twice. Hits that a lease
	// gets after DEL would stay counted, and nobody would use them.
	for _, k := range l.leases.stop(shares, key, false) {
		l.tellSome(k.limit, hitsUnused, k.unused)
		k.settle(ctx)
	}
	l.backlog.forget(places)
	p := l.pipe()
	defer l.unpipe(p)
	for _, at := range places {
		p.Cmd("DEL", at.String()).Idempotent()
	}
	err := p.Do(ctx)
	for _, k := range l.leases.stop(shares, key, true) { // those that were made meanwhile, too
		l.tellSome(k.limit, hitsUnused, k.unused)
	}
	for _, at := range places {
		l.near.forget(at)
	}
	l.local.forget(&of.rule, key)
	if err != nil {
		return fmt.Errorf("limit: Reset of a key of limit %s: %w", of.rule.Name, err)
	}
	return nil
}

// places returns the keys in Redis: those of the window and its neighbours, since clocks
// differ, or the one of a bucket.
func (l *Limiter) places(of *Limit, now time.Time, key string) []place {
	if of.rule.Algorithm == TokenBucket {
		return []place{{of.headOf(0), key}}
	}
	n := l.windowAt(now, of.rule.Window).number
	return []place{{of.headOf(n - 1), key}, {of.headOf(n), key}, {of.headOf(n + 1), key}}
}

// forget drops the hits on the keys: given back after a Reset, they would be allowed twice.
// What a settlement adds would be counted although it is forgotten.
func (b *backlog) forget(places []place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(o owed) bool {
		if o.draw != nil {
			return slices.ContainsFunc(places, func(p place) bool { return p.String() == o.draw.key })
		}
		return slices.Contains(places, place{o.hit.Prefix, o.hit.Key})
	})
}

func (l *local) forget(r *Rule, key string) {
	if l != nil {
		key = bounded(l.seed, key)
		l.shards[maphash.String(l.seed, key)%nearShards].Remove(localKey{*r, key})
	}
}

var errResetOfNone = errors.New("limit: the Limit is nil, or was not made by Rule.New: use one that it returned")
