package limit

import (
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// appendOwed appends the return of so many hits of the window, or tokens, for [Limiter.handBack].
func (k *keyLease) appendOwed(all []owed, l *Limiter, w window, n int64) []owed {
	switch {
	case n == 0:
	case k.line == nil:
		all = k.appendReturn(all, k.owedHits(l, w, n))
	default:
		for _, s := range k.line.Drop(n) {
			all = k.appendReturn(all, k.owedTokens(l, s))
		}
	}
	return all
}

func (k *keyLease) appendReturn(all []owed, o owed) []owed {
	o.lease = k
	if k.returning++; k.settled == nil {
		k.settled = make(chan struct{})
	}
	return append(all, o)
}

func (k *keyLease) hasReturned() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.returned++
	if k.returning--; k.returning == 0 {
		close(k.settled)
		k.settled = nil
	}
}

func (k *keyLease) owedHits(l *Limiter, w window, n int64) owed {
	return owed{of: k.limit, cost: n, until: time.Now().Add(w.left()), hit: k.limit.hit(w, k.key, -n, l.cfg.Budget)}
}

func (k *keyLease) owedTokens(l *Limiter, s lease.Stretch) owed {
	back := newDraw(k.limit.heads(0).now+k.key, &k.limit.rule, -s.N, l.now(), s.From)
	return owed{of: k.limit, cost: s.N, until: l.leases.flowIn(k.limit, s), draw: &back}
}

func (s *leases) flowIn(of *Limit, tokens lease.Stretch) time.Time {
	return s.epoch.Add(tokens.At + time.Duration(float64(tokens.N)*of.rule.perToken()))
}

// handBack returns hits behind the callers' backs, those of each node by themselves. So a silent node
// delays the returns of its own keys alone. The caller is inside.
func (l *Limiter) handBack(back []owed) {
	ofNode := make(map[string][]owed)
	for _, o := range back {
		node := l.nodeOf(o.key())
		ofNode[node] = append(ofNode[node], o)
	}
	for _, some := range ofNode {
		l.inside.Stay()
		go func() {
			defer l.inside.Leave()
			l.backlog.offer(some)
			for _, o := range some {
				o.lease.hasReturned()
			}
		}()
	}
}
