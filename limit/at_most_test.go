package limit

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestAllowAtMost: it grants what a hit of that cost would be allowed, and counts no more.
func TestAllowAtMost(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := new(ledger)
				l := newWorld(t).limiter(t, Config{Observer: seen, NearCache: -1})
				limit := l.must(t, Rule{Name: "r", Quota: 20, Window: time.Minute, Algorithm: algorithm})
				random, counted := rand.New(rand.NewPCG(1, 2)), int64(0)
				whole, part, none := 0, 0, 0
				for range 150 {
					time.Sleep(time.Duration(random.Int64N(int64(20 * time.Second))))
					cost := 1 + random.Int64N(12)
					free := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining
					granted, d := l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: cost})
					require.NoError(t, d.Err)
					require.Equal(t, min(cost, free), granted)
					require.Equal(t, granted > 0, d.Allowed)
					require.Equal(t, free-granted, d.Remaining)
					require.Equal(t, granted == 0, d.RetryAfter > 0)
					switch counted += granted; granted {
					case cost:
						whole++
					case 0:
						none++
					default:
						part++
					}
				}
				require.Greater(t, min(whole, part, none), 5)
				require.Equal(t, [4]int64{counted, 0, 0}, seen.sums())
			})
		})
	}
}

// TestAllowAtMostIsExact: callers that ask for parts get the limit together. (With leases, some of it may be reserved when
// all have ended.)
func TestAllowAtMostIsExact(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		var sum atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			l := limiterAt(t, cluster.Config{}, patient, addrs)
			limit := l.must(t, Rule{Name: algorithm.String(), Quota: 1000, Window: mostWindow, Algorithm: algorithm, NoLease: true})
			for i := range 8 {
				all.Go(func() {
					for {
						n, d := l.AllowAtMost(context.Background(), Request{Limit: limit, Key: "k", Cost: int64(3 + i)})
						if assert.NoError(t, d.Err); n == 0 {
							return
						}
						sum.Add(n)
					}
				})
			}
		}
		all.Wait()
		require.EqualValues(t, 1000, sum.Load(), algorithm)
	}
}

// TestAllowAtMostGivesATimeToLive: to a key that it creates, also if it has seen the key before.
func TestAllowAtMostGivesATimeToLive(t *testing.T) {
	t.Parallel()
	l := limiterAt(t, cluster.Config{}, patient, servers.StartCluster(t, servers.Options{}).Addrs())
	limit := l.must(t, Rule{Name: "some", Quota: 1000, Window: mostWindow})
	key, _ := limit.names(limit.number(limit.windowAt(time.Now())), "k")
	for range 2 {
		n, d := l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
		require.NoError(t, d.Err)
		require.EqualValues(t, 3, n)
		left, err := l.client.Cmd(t.Context(), "PTTL", key).Int()
		require.NoError(t, err)
		require.Positive(t, left)
		require.NoError(t, l.client.Cmd(t.Context(), "DEL", key).Err())
	}
}

// TestAllowAtMostHasTheLease: hits that the process has reserved are granted as well.
func TestAllowAtMostHasTheLease(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l, err := Config{Observer: seen}.New(w.client)
				require.NoError(t, err)
				defer l.Close()
				limit := l.must(t, Rule{Name: "r", Quota: 2000, Window: 24 * time.Hour, Algorithm: algorithm, FailClosed: true})
				atWindow(24 * time.Hour)
				used := warm(t, l, Request{Limit: limit, Key: "k"})
				require.Greater(t, l.left(limit, "k"), int64(4))
				n, d := l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
				used += n
				require.Equal(t, []any{int64(3), "allowed_leased", 2000 - used}, []any{n, d.Outcome(), d.Remaining})
				require.Positive(t, d.ResetAfter)
				used += warm(t, l, Request{Limit: limit, Key: "k"})
				require.Positive(t, l.left(limit, "k"))
				n, d = l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 1000})
				used += n
				require.Equal(t, []any{int64(1000), "allowed", 2000 - used}, []any{n, d.Outcome(), d.Remaining})

				used += warm(t, l, Request{Limit: limit, Key: "k"})
				counting := []string{"evalsha", "incrby", "set"}
				w.refuseAll(model.OutOfSpace, counting...)
				left := l.left(limit, "k")
				n, d = l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 1000})
				require.Equal(t, []any{int64(0), "failed_closed", int64(0), left}, []any{n, d.Outcome(), d.Remaining, l.left(limit, "k")})
				w.refuseAll("", counting...)
				n, d = l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 3000})
				used += n
				require.Equal(t, []any{int64(2000), "allowed", int64(0)}, []any{used, d.Outcome(), d.Remaining})
				require.Zero(t, d.RetryAfter)
				require.NoError(t, l.Close())
				hits := seen.sums()
				require.Equal(t, used, hits[sumCounted]-hits[sumReturned]-hits[sumLost])
			})
		})
	}
}

// TestAllowAtMostOutlivesTheLease: hits of a lease are given back, also if the lease has ended meanwhile.
func TestAllowAtMostOutlivesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Budget: 1500 * time.Millisecond})
		all := Request{Limit: l.must(t, Rule{Name: "r", Quota: 2000, Window: 24 * time.Hour, Algorithm: SlidingWindow, FailClosed: true}), Key: "k", Cost: 2000}
		atWindow(24 * time.Hour)
		used := warm(t, l, Request{Limit: all.Limit, Key: "k"})
		for range 400 { // often enough that the lease ends a second after the last hit
			require.True(t, l.Allow(t.Context(), Request{Limit: all.Limit, Key: "k"}).Allowed)
			used++
			time.Sleep(250 * time.Microsecond)
		}
		lift := w.net.Impose("", "", simnet.Conditions{Latency: time.Second})
		n, d := l.AllowAtMost(t.Context(), all)
		require.Equal(t, []any{int64(0), "failed_closed"}, []any{n, d.Outcome()})
		lift()
		time.Sleep(time.Minute)
		require.Equal(t, used, l.count(t, all.Limit, "k"))
	})
}

// An observer that keeps whether calls were allowed.
type verdicts []bool

func (v *verdicts) Decided(_ time.Duration, _ []Request, r Result) { *v = append(*v, r.Allowed) }

func (*verdicts) Hits(*Limit, string, int64) {}

func TestAllowAtMostWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		seen := new(verdicts)
		l, shared := w.limiter(t, Config{Budget: 30 * time.Millisecond, Observer: seen}), w.limiter(t, Config{Instances: 2})
		open := l.must(t, Rule{Name: "open", Quota: 5, Window: time.Hour})
		closed := l.must(t, Rule{Name: "closed", Quota: 5, Window: time.Hour, FailClosed: true, Algorithm: SlidingWindow})
		shadow := l.must(t, Rule{Name: "shadow", Quota: 5, Window: time.Hour, Shadow: true})
		n, d := l.AllowAtMost(t.Context(), Request{Limit: shadow, Key: "k", Cost: 9})
		require.Equal(t, []any{int64(9), true, int64(0)}, []any{n, d.Allowed, d.Remaining}, "a limit in the shadow")
		n, d = l.AllowAtMost(t.Context(), Request{Limit: shadow, Key: "k", Cost: 9})
		require.Equal(t, []any{int64(9), false, verdicts{true, true}}, []any{n, d.Allowed, *seen}, "all are granted")
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		began := time.Now()
		n, d = l.AllowAtMost(t.Context(), Request{Limit: open, Key: "k", Cost: 9})
		require.Equal(t, 30*time.Millisecond, time.Since(began))
		require.Equal(t, []any{int64(5), "failed_open"}, []any{n, d.Outcome()})
		require.ErrorIs(t, d.Err, redislanes.ErrUnknownOutcome)
		n, d = l.AllowAtMost(t.Context(), Request{Limit: closed, Key: "k", Cost: 9})
		require.Equal(t, []any{int64(0), "failed_closed"}, []any{n, d.Outcome()})
		n, _ = shared.AllowAtMost(t.Context(), Request{Limit: open, Key: "k", Cost: 2})
		require.EqualValues(t, 2, n)
		n, _ = shared.AllowAtMost(t.Context(), Request{Limit: open, Key: "k", Cost: 2})
		require.Zero(t, n)
	})
}

func TestAllowAtMostMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(outcomes)
		l := newWorld(t).limiter(t, Config{Observer: seen})
		limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Hour})
		none := l.must(t, Rule{Name: "none", Quota: 0, Window: time.Hour})
		for want, request := range map[string]Request{"Limit is nil": {Key: "k"}, "Cost = -1 of limit ": {Limit: limit, Cost: -1}, "read Decision.Remaining": {Limit: limit, Look: true}} {
			n, d := l.AllowAtMost(t.Context(), request)
			require.Zero(t, n)
			require.ErrorContains(t, d.Err, want)
		}
		_, d := new(Limiter).AllowAtMost(t.Context(), Request{Limit: limit})
		require.ErrorIs(t, d.Err, errNotMade)
		_, d = l.AllowAtMost(t.Context(), Request{Limit: none})
		require.Equal(t, Never, d.RetryAfter)
		n, _ := l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 9})
		require.EqualValues(t, 5, n)
		l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k"})
		_, d = l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
		require.True(t, d.Near)
		require.NoError(t, l.Close())
		n, d = l.AllowAtMost(t.Context(), Request{Limit: limit, Key: "other"})
		require.ErrorIs(t, d.Err, redislanes.ErrClosed)
		require.EqualValues(t, 1, n)
		require.Equal(t, outcomes{"mistaken", "mistaken", "mistaken", "denied", "allowed", "denied_near", "denied_near", "failed_open"}, *seen)
	})
}
