package limit

import (
	"context"
	"slices"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// A route is the nodes that have a refill's keys, and how it asks them. Refills that may wait travel with
// others of their route: a round trip of its own would cost more than the few hits of such a refill. A
// silent node delays the refills of its own keys alone, as far as the client's map is up to date.
type route struct {
	now, before string // the nodes of a window's key, and of the key of the window before
	tokens      bool
	nth         int // of the buckets in a slot: in a pipeline, a script of the same slot would be sent with its text
}

func (l *Limiter) routeOf(r *refill) route {
	k := r.lease
	of := route{now: l.nodeOf(r.key()), tokens: k.line != nil}
	if k.limit.windows() == 2 {
		of.before = l.nodeOf(k.limit.heads(r.window.number).before + k.key)
	}
	return of
}

func (l *Limiter) nodeOf(key string) string { return l.client.Primary(cluster.Slot(key)) }

func (r *refill) key() string {
	k := r.lease
	return k.limit.heads(k.limit.number(r.window)).now + k.key
}

// mayWait reports whether the refill may travel with others. leased says whether the lease has decided the
// hit that caused the refill. Otherwise that hit asks Redis: always if it is of a window, and in a bucket if
// it is the first one of the lease. Other hits on an empty bucket wait for the refill, so it is sent now.
func (r *refill) mayWait(leased bool) bool {
	may := r.lease.Ample(r.n)
	if r.lease.line != nil {
		may = leased || r.lease.Fills() == 0
	}
	return may && r.lasts >= lastsLong
}

// careful reports whether a script looks before it counts. Such a refill travels alone.
func (r *refill) careful() bool { return r.lease.line == nil && !r.ample }

// keep keeps the refill until the next look at the leases.
func (s *leases) keep(r *refill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent = append(s.unsent, r)
}

// sendUnsent sends the refills that have waited. The caller is inside.
func (l *Limiter) sendUnsent() {
	s := l.leases
	s.mu.Lock()
	unsent := s.unsent
	s.unsent = nil
	s.mu.Unlock()
	l.sendTogether(slices.DeleteFunc(unsent, func(r *refill) bool { return !r.begin() }))
}

// begin reports whether the refill is still to be sent. Then it begins.
func (r *refill) begin() bool {
	k := r.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unsent != r {
		return false
	}
	k.begins(r)
	return true
}

// begins notes that the refill is under way, and how it asks. The lease is locked.
func (k *keyLease) begins(r *refill) {
	r.ended, r.ample = make(chan struct{}), k.Ample(r.n)
	k.refilled, k.unsent = r.ended, nil
}

// sendTogether sends refills that have begun, those of a route together. The caller is inside.
func (l *Limiter) sendTogether(all []*refill) {
	switch len(all) {
	case 0:
		return
	case 1: // as most do that do not wait
		l.send([]*refill{all[0]})
		return
	}
	together, inSlot := make(map[route][]*refill), make(map[uint16]int)
	for _, r := range all {
		if r.careful() {
			l.send([]*refill{r})
			continue
		}
		of := l.routeOf(r)
		if of.tokens {
			slot := cluster.Slot(r.key())
			of.nth = inSlot[slot]
			inSlot[slot]++
		}
		together[of] = append(together[of], r)
	}
	for _, some := range together {
		for few := range slices.Chunk(some, owedAtOnce) {
			l.send(few)
		}
	}
}

// send asks Redis for the hits of refills of one route, behind the callers' backs. Like a return, it has time
// until the outcome is known: if that never is, the hits stay counted.
func (l *Limiter) send(all []*refill) {
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		ctx, cancel := context.WithTimeout(l.life, returnTime)
		defer cancel()
		switch r := all[0]; {
		case r.lease.line != nil:
			l.drawTokens(ctx, all)
		case r.ample:
			l.countHits(ctx, all)
		default:
			r.err = l.refillHits(ctx, r)
		}
		var late []owed
		for _, r := range all {
			late = append(late, l.filled(r)...)
		}
		l.backlog.offer(late)
	}()
}

// waits waits for a refill of tokens that is under way, and tries again. It reports whether the lease has
// decided. Asking Redis takes as long, and the scripts of many callers would travel one by one, in front of
// the next refill.
func (a *ask) waits(ctx context.Context, l *Limiter, c *call, d *Decision) bool {
	patience := time.NewTimer(l.cfg.Budget/2 - time.Since(c.began)) // the rest is for asking
	defer patience.Stop()
	select {
	case <-a.refilled:
	case <-patience.C:
	case <-ctx.Done():
	}
	select { // several may have happened
	case <-a.refilled:
	default:
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
	l.tellSome(k.limit, hitsUnused, gone)
	if d.Leased {
		a.allow(d)
	}
	return d.Leased
}
