package quota

import (
	"cmp"
	"context"
	"strconv"
	"time"
)

// leaseTTL is how long a lease lasts: longer than an assignment that is sent shortly before the
// lease is renewed.
func (s *Server) leaseTTL() time.Duration { return s.TTL + s.Delivery + 4*s.TTL/renewals }

// renew renews the leases of all buckets, and forgets buckets that nobody uses.
func (s *Server) renew(ctx context.Context) {
	began := time.Now()
	s.calls++
	buckets, leases := s.ask(began)
	if len(leases) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.TTL/renewals*2)
	defer cancel()
	renew(ctx, s.Client, leases)
	s.got(began, buckets, leases)
}

// ask returns what to ask Redis for, and the bucket of each lease. It gives back the lease of a bucket
// that nobody uses, and leaves that bucket's spent hits in Redis.
func (s *Server) ask(now time.Time) (buckets []*bucket, leases []*lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.buckets {
		if !now.Before(b.until) && b.capacity > 0 {
			b.setLease(b.share.Held(now), b.target) // the lease has ended: others may have it
		}
		b.share.Decide(now, time.Time{}) // forgets clients that have gone
		l := &lease{key: key, of: s.instance, held: max(b.capacity, b.share.Held(now)), want: b.share.Wants(now), clients: max(1, int64(len(b.subs))), limit: b.limit, ttl: s.leaseTTL(), number: s.calls}
		if len(b.subs) == 0 && b.share.Empty() {
			l.ttl = 0
			delete(s.buckets, key)
			b.until = time.Time{}
			b.setLease(0, 0)
			if b.spent == nil {
				b.spent = s.spent(b, now)
			}
			if b.spent != nil { // goes first
				buckets, leases = append(buckets, b), append(leases, b.spent)
			}
		} else if b.spent = nil; b.target < b.capacity {
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
		case s.buckets[b.key] != b: // nobody uses it
			if l.err != nil && s.buckets[b.key] == nil {
				s.buckets[b.key] = b // to be given back again
			}
			failed = cmp.Or(failed, l.err)
			continue
		case l.err != nil:
			failed = l.err
			if b.asking {
				b.setLease(min(l.held, b.limit), b.target)
			}
		default:
			b.setLease(min(l.amount, b.limit), l.target)
			if l.alone && b.until.IsZero() {
				b.share.Unused()
			}
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

// release shortens the leases to what is in force. Spent hits stay spent.
func (s *Server) release() {
	s.calls++
	s.mu.Lock()
	now := time.Now()
	var leases []*lease
	for key, b := range s.buckets {
		ttl := max(0, b.share.Ends().Sub(now)+time.Millisecond) // rounded up
		if spent := s.spent(b, now); spent != nil {
			leases = append(leases, spent)
		}
		leases = append(leases, &lease{key: key, of: s.instance, held: b.share.InForce(now), clients: 1, ttl: ttl, number: s.calls})
	}
	s.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.TTL/renewals)
	defer cancel()
	renew(ctx, s.Client, leases)
}

// slots is how many entries an instance's spent hits of a window have, so that old ones end.
const slots = 8

// spent returns a lease that has the hits which new assignments began with, perhaps none, for as long
// as anything that was admitted counts, or nil if nothing does.
func (s *Server) spent(b *bucket, now time.Time) *lease {
	hits, ends := b.share.Spent(now)
	if !ends.After(now) {
		return nil
	}
	of := s.instance + ":" + strconv.FormatInt(now.UnixNano()/int64(b.window/slots), 10)
	return &lease{key: b.key, of: of, held: hits, limit: b.limit, ttl: ends.Sub(now) + time.Millisecond, ends: ends, number: s.calls} // rounded up
}
