package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit/internal/window"
)

// TestRuleOfARequest: a limit that comes with the call decides as one that was made before, for as many commands.
func TestRuleOfARequest(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			rule := Rule{Name: "r", Quota: 1000, Window: 10 * time.Second, Algorithm: algorithm}
			run := func(q Request) (outcomes map[string]int, allowed, n int64) {
				sent := new(commands)
				l := newTracedWorld(t, sent.trace()).limiter(t, Config{})
				if q.Rule == (Rule{}) {
					q.Limit = l.must(t, rule)
				}
				outcomes = make(map[string]int)
				atWindow(time.Minute)
				for i := range 3000 {
					q.Cost = int64(1 + i%2)
					r := l.Allow(t.Context(), q)
					require.NoError(t, r.Err)
					if outcomes[r.Outcome()]++; r.Allowed {
						allowed += q.Cost
					}
					time.Sleep(2 * time.Millisecond)
				}
				return outcomes, allowed, sent.Load()
			}
			made, all, sent := run(Request{Key: "k"})
			came, same, n := run(Request{Key: "k", Rule: rule})
			t.Log(algorithm, made, all, sent, came, same, n)
			require.InDelta(t, all, same, 2)
			require.Greater(t, came["allowed_leased"], came["allowed"])
			require.Greater(t, came["denied_near"], came["denied"])
			require.InEpsilon(t, sent, n, 0.1)
		})
	}
}

// TestRulesOfRequestsAreBounded: the limiter remembers the last ones, and all have their counts.
func TestRulesOfRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		hit := func(quota int64) Result {
			return l.Allow(t.Context(), Request{Rule: Rule{Name: "r", Quota: quota, Window: time.Hour}, Key: "k"})
		}
		atWindow(time.Hour)
		require.True(t, hit(3).Allowed)
		for i := range int64(mostRules + 10) {
			require.True(t, l.Allow(t.Context(), Request{Rule: Rule{Name: "s", Quota: i + 1, Window: time.Hour}, Key: "k", Look: true}).Err == nil)
		}
		require.Equal(t, mostRules, l.rules.Len())
		require.EqualValues(t, 1, hit(3).Remaining)
		for want, q := range map[string]Request{"Rule.Name": {Rule: Rule{Quota: 1, Window: time.Hour}}, "Request.Rule is empty": {}, "Window = 0s": {Rule: Rule{Name: "r", Quota: 1}}} {
			r := l.Allow(t.Context(), q)
			require.ErrorContains(t, r.Err, want)
			require.Equal(t, "mistaken", r.Outcome())
		}
	})
}

// TestRuleThatIsCut: a second after eight processes get half the limit, they are allowed nothing over it.
func TestRuleThatIsCut(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			const processes = 8
			w := newWorld(t)
			whole := Rule{Name: "plan", Quota: 10_000, Window: time.Minute, Algorithm: algorithm}
			enough := whole.Quota * 9 / 20
			if algorithm == TokenBucket {
				whole.Burst, enough = 100, 500
			}
			half := whole
			half.Quota /= 2
			var cut, end atomic.Bool
			var allowed, late atomic.Int64 // in all, and later than a second after the cut
			var all sync.WaitGroup
			atWindow(time.Minute)
			number, later := window.At(time.Now(), time.Minute).Number, atomic.Bool{}
			for range processes {
				l := w.limiter(t, Config{})
				all.Go(func() {
					for !end.Load() {
						q := Request{Rule: whole, Key: "k"}
						if cut.Load() {
							q.Rule = half
						}
						if l.Allow(t.Context(), q).Allowed && window.At(time.Now(), time.Minute).Number == number {
							if allowed.Add(1); later.Load() {
								late.Add(1)
							}
						}
						time.Sleep(8 * time.Millisecond)
					}
				})
			}
			for allowed.Load() < enough {
				time.Sleep(time.Millisecond)
			}
			cut.Store(true)
			time.Sleep(time.Second)
			before := allowed.Load()
			later.Store(true)
			time.Sleep(4 * time.Second)
			end.Store(true)
			all.Wait()
			over := max(0, half.Quota-before)
			if algorithm == TokenBucket {
				over = half.Burst + half.Quota*4/60
			}
			t.Log(algorithm, before, late.Load())
			require.LessOrEqual(t, late.Load(), over, "%v: %d", algorithm, before)
		})
	}
}
