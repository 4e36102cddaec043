package limit

import (
	"context"
	"slices"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/internal/lease"
)

// lastsLong is how long the hits of a refill last that may wait for others: a quarter of the lease is left
// when it is asked for, which is enough for two ticks.
const lastsLong = 8 * lease.Tick

// A route is the nodes that have a refill's keys, and how it asks them. Refills that may wait travel with
// others of their route: a round trip of its own would cost more than the few hits of such a refill. A
// silent node delays the refills of its own keys alone.
type route struct {
	now, before   string // the nodes of a window's key, and of the key of the window before
	tokens, ample bool
}

func (l *Limiter) routeOf(r *refill) route {
	k := r.lease
	of := route{now: l.nodeOf(r.key()), tokens: k.line != nil, ample: r.ample && k.line == nil}
	if k.limit.windows() == 2 {
		of.before = l.nodeOf(k.limit.heads(r.window.number).before + k.key)
	}
	return of
}

func (l *Limiter) nodeOf(key string) string { return l.client.Primary(cluster.Slot(key)) }

// key returns the key in Redis.
func (r *refill) key() string {
	k := r.lease
	return k.limit.heads(k.limit.number(r.window)).now + k.key
}

// mayWait reports whether the refill may travel with others. leased says whether the lease has decided about
// the hit that asks for it. A hit that finds no tokens waits for the refill. One that finds no hits of a
// window asks Redis itself. A script that looks before it counts travels alone.
func (r *refill) mayWait(leased bool) bool {
	may := r.lease.Ample(r.n)
	if r.lease.line != nil {
		may = leased
	}
	return may && r.lasts >= lastsLong
}

// wait keeps the refill until the next look at the leases.
func (s *leases) wait(r *refill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, r)
}

// refillWaiting sends the refills that have waited. The caller is inside.
func (l *Limiter) refillWaiting() {
	s := l.leases
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	l.sendTogether(slices.DeleteFunc(waiting, func(r *refill) bool { return !r.begin() }))
}

// sendTogether sends refills that have begun, those of a route together.
func (l *Limiter) sendTogether(all []*refill) {
	switch len(all) {
	case 0:
	case 1:
		l.sendRefills([]*refill{all[0]})
	default:
		together := make(map[route][]*refill)
		for _, r := range all {
			of := l.routeOf(r)
			together[of] = append(together[of], r)
		}
		for _, some := range together {
			l.sendRefills(some)
		}
	}
}

// begin reports whether the refill still waits. Then it begins.
func (r *refill) begin() bool {
	k := r.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits != r {
		return false
	}
	k.begins(r)
	return true
}

// begins notes that the refill is under way, and how it asks. The lease is locked.
func (k *keyLease) begins(r *refill) {
	r.ended, r.ample = make(chan struct{}), k.Ample(r.n)
	k.refilled, k.waits = r.ended, nil
}

// sendRefills sends refills of one route.
func (l *Limiter) sendRefills(all []*refill) {
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		for some := range slices.Chunk(all, owedAtOnce) {
			l.askFor(some)
		}
	}()
}

// askFor asks Redis. Like a return, it has time until the outcome is known: if that never is, the hits
// stay counted.
func (l *Limiter) askFor(all []*refill) {
	ctx, cancel := context.WithTimeout(l.life, returnTime)
	defer cancel()
	switch r := all[0]; {
	case r.lease.line != nil:
		l.drawTokens(ctx, all)
	case r.ample:
		l.countHits(ctx, all)
	default:
		for _, r := range all {
			r.err = l.refillHits(ctx, r)
		}
	}
	for _, r := range all {
		l.filled(r)
	}
}

// waits waits for a refill of tokens that is under way, and tries again. Asking Redis takes as long,
// and the scripts of many callers would travel one by one, in front of the next refill.
func (a *ask) waits(ctx context.Context, l *Limiter, c *call, d *Decision) bool {
	patience := time.NewTimer(l.cfg.Budget/2 - time.Since(c.began)) // the rest is for asking
	defer patience.Stop()
	select {
	case <-a.refilled:
	case <-patience.C:
		return false
	case <-ctx.Done():
		return false
	}
	k := a.lease
	k.mu.Lock()
	gone := k.roll(a.number(), time.Since(l.leases.epoch))
	if !k.over {
		d.Leased = k.Again(a.cost)
	}
	a.taken(d)
	k.mu.Unlock()
	l.tellSome(k.limit, HitsUnused, gone)
	if d.Leased {
		a.allow(d)
	}
	return d.Leased
}
