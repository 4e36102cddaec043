package quota

import (
	"context"
	"time"
)

// leaseTTL is how long a lease lasts: longer than an assignment that is sent shortly before the
// lease is renewed.
func (s *Server) leaseTTL() time.Duration { return s.TTL + s.Delivery + 4*s.TTL/renewals }

// renew renews the leases of all buckets, and forgets buckets that nobody uses.
func (s *Server) renew(ctx context.Context) {
	began := time.Now()
	buckets, leases := s.ask(began)
	if len(leases) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.TTL/renewals*2)
	defer cancel()
	s.calls++
	renew(ctx, s.Client, s.instance, s.calls, leases)
	s.got(began, buckets, leases)
}

// ask returns what to ask Redis for.
func (s *Server) ask(now time.Time) (buckets []*bucket, leases []*lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.buckets {
		if !now.Before(b.until) && b.capacity > 0 {
			b.setLease(b.share.Held(now), b.target) // the lease has ended: others may have it
		}
		b.share.Decide(now, time.Time{}) // forgets clients that have gone
		l := &lease{key: key, held: max(b.capacity, b.share.Held(now)), want: b.share.Wants(now), clients: max(1, int64(len(b.subs))), limit: b.limit, ttl: s.leaseTTL()}
		if len(b.subs) == 0 && b.share.Empty() {
			l.ttl = 0
			delete(s.buckets, key)
		} else if b.target < b.capacity {
			l.held = b.share.Held(now)
			b.asking = true
		}
		buckets, leases = append(buckets, b), append(leases, l)
	}
	return buckets, leases
}

// got takes in what Redis has replied. A lease that may have been made smaller is.
func (s *Server) got(began time.Time, buckets []*bucket, leases []*lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var failed error
	for i, b := range buckets {
		switch l := leases[i]; {
		case l.err != nil:
			failed = l.err
			if b.asking {
				b.setLease(min(l.held, b.limit), b.target)
			}
		default:
			b.setLease(min(l.amount, b.limit), l.target)
			b.until = began.Add(l.ttl)
		}
		b.asking = false
		s.decide(now, b)
	}
	s.note(now, failed)
}

// note logs once that leases cannot be renewed, and once that they can again.
func (s *Server) note(now time.Time, failed error) {
	switch {
	case failed != nil:
		s.metrics.failures.Inc()
		if s.without.IsZero() {
			s.without = now
			s.Log.Warn("quotas cannot be leased from Redis: assignments are not renewed and clients fall back when they end", "within", s.TTL, "error", failed)
		}
	case !s.without.IsZero():
		s.Log.Info("quotas are leased from Redis again", "after", now.Sub(s.without).Round(time.Millisecond))
		s.without = time.Time{}
	}
}

// release shortens the leases to what is in force.
func (s *Server) release() {
	s.mu.Lock()
	now := time.Now()
	var leases []*lease
	for key, b := range s.buckets {
		ttl := max(0, b.share.Ends().Sub(now)+time.Millisecond) // rounded up
		leases = append(leases, &lease{key: key, held: b.share.Held(now), clients: 1, ttl: ttl})
	}
	s.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.TTL/renewals)
	defer cancel()
	s.calls++
	renew(ctx, s.Client, s.instance, s.calls, leases)
}
