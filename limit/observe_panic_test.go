package limit

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A rude observer panics.
type rude struct{ decisions, hits atomic.Int64 }

func (r *rude) Decided(time.Duration, []Request, Result) { r.decisions.Add(1); panic("Decided") }
func (r *rude) Hits(*Limit, string, int64)               { r.hits.Add(1); panic("Hits") }

// TestPanickingObserver costs no call its result, no denied call its hits, and does not end the
// process from a goroutine that refills a lease.
func TestPanickingObserver(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observer := new(rude)
				w := newWorld(t)
				l := w.limiter(t, Config{Observer: observer, NearCache: -1})
				atWindow(24 * time.Hour)
				few := l.must(t, Rule{Name: "few", Quota: 2, Window: 24 * time.Hour, Algorithm: algorithm, NoLease: true})
				used := warm(t, l, Request{Limit: l.must(t, Rule{Name: "many", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm}), Key: "k"})
				require.False(t, l.Allow(t.Context(), Request{Limit: few, Key: "k", Cost: 2}, Request{Limit: l.must(t, Rule{Name: "none", Window: time.Hour}), Key: "k"}).Allowed)
				granted, _ := l.AllowAtMost(t.Context(), Request{Limit: few, Key: "k", Cost: 3})
				require.EqualValues(t, 2, granted, "those of the denied call are back")
				require.EqualValues(t, used+2, observer.decisions.Load())
				require.Greater(t, observer.hits.Load(), int64(3))
			})
		})
	}
}

// closing closes its limiter when it hears of a decision.
type closing struct{ limiter *Limiter }

func (c *closing) Decided(time.Duration, []Request, Result) { _ = c.limiter.Close() }
func (*closing) Hits(*Limit, string, int64)                 {}

// TestObserverCloses: Close does not wait for Decided, which may call it or may hang.
func TestObserverCloses(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, l *Limiter, r Request) bool{
		"Allow": func(t *testing.T, l *Limiter, r Request) bool { return l.Allow(t.Context(), r).Allowed },
		"AllowAtMost": func(t *testing.T, l *Limiter, r Request) bool {
			n, _ := l.AllowAtMost(t.Context(), r)
			return n == 1
		},
		"Reserve": func(t *testing.T, l *Limiter, r Request) bool {
			_, result := l.Reserve(t.Context(), r)
			return result.Allowed
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observer := new(closing)
				observer.limiter = newWorld(t).limiter(t, Config{Observer: observer})
				rule := observer.limiter.must(t, Rule{Name: "few", Quota: 2, Window: time.Hour})
				require.True(t, call(t, observer.limiter, Request{Limit: rule, Key: "k", Cost: 1}))
			})
		})
	}
}
