package limit

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestTokensOfLeases: three processes that hit a bucket, each often enough for a lease, never
// get more than it allows at any time, also if they leave a full one alone for a moment, and then
// hit it much more often. They get all of it if they ask for more.
func TestTokensOfLeases(t *testing.T) {
	const rate, burst = 5000, 2000 // a second
	for seed := range uint64(6) {
		if race.Enabled && seed%2 == 1 {
			continue
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				factor := []float64{0.3, 0.6, 3, 0.3, 0.5, 0.8}[seed]
				bursts, pause := seed >= 3, time.Duration(seed)*50*time.Millisecond-150*time.Millisecond // 50, 100 or 150 ms in all
				var mu sync.Mutex
				var at []time.Duration // of each hit that was allowed
				leased := 0
				began := time.Now()
				var callers sync.WaitGroup
				for i := range 3 {
					l := w.limiter(t, Config{NearCache: -1})
					bucket := l.must(t, Rule{Name: "b", Quota: rate, Burst: burst, Window: time.Second, Algorithm: TokenBucket})
					for j := range 5 {
						callers.Go(func() {
							random := rand.New(rand.NewPCG(seed, uint64(10*i+j)))
							for time.Since(began) < 1200*time.Millisecond {
								factor := factor
								if phase := time.Since(began) % (600 * time.Millisecond); bursts && phase > 400*time.Millisecond-pause {
									time.Sleep(450*time.Millisecond - phase)
									factor = 12
								}
								time.Sleep(time.Duration(random.ExpFloat64() * 15 / (factor * rate) * float64(time.Second)))
								r := l.Allow(t.Context(), Request{Limit: bucket, Key: "k"})
								assert.NoError(t, r.Err)
								mu.Lock()
								if r.Allowed {
									at = append(at, time.Since(began))
								}
								if r.Leased {
									leased++
								}
								mu.Unlock()
							}
						})
					}
				}
				callers.Wait()
				level, last := float64(burst), time.Duration(0)
				for _, now := range at {
					level = min(burst, level+rate*(now-last).Seconds()) - 1
					last = now
					require.Greater(t, level, -rate*0.0005-1, "after %v", now) // half a millisecond: hits are on their way back
				}
				t.Logf("%d allowed, %d leased", len(at), leased)
				if factor > 1 {
					require.InEpsilon(t, burst+rate*last.Seconds(), len(at), 0.02)
				}
			})
		})
	}
}

// TestSlidingRefill: a lease gets a part of what remains once the share of the window before is
// taken off.
func TestSlidingRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 20_000, Window: 2 * time.Second, Algorithm: SlidingWindow})
		atWindow(2 * time.Second)
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 20_000}).Allowed)
		atWindow(2 * time.Second)
		time.Sleep(320 * time.Millisecond)
		r := &refill{lease: &keyLease{limit: limit, key: "k"}, window: windowAt(time.Now(), 2*time.Second), n: 10_000}
		require.NoError(t, l.refillHits(t.Context(), r))
		require.EqualValues(t, 200, r.granted, "a sixteenth of 3200")
		require.EqualValues(t, 3000, r.free)
	})
}

// TestSlidingLease: a lease has only what the share of the window before leaves.
func TestSlidingLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		limit := l.must(t, Rule{Name: "user", Quota: 20_000, Window: 2 * time.Second, Algorithm: SlidingWindow})
		atWindow(2 * time.Second)
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 20_000}).Allowed)
		atWindow(2 * time.Second)
		time.Sleep(300 * time.Millisecond)
		var mu sync.Mutex
		used, leased := 0, 0
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				for range 300 {
					r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
					assert.NoError(t, r.Err)
					mu.Lock()
					if r.Allowed {
						used++
					}
					if r.Leased {
						leased++
					}
					assert.LessOrEqual(t, used, int(10*windowAt(time.Now(), 2*time.Second).elapsed/time.Millisecond))
					mu.Unlock()
					time.Sleep(time.Millisecond)
				}
			})
		}
		callers.Wait()
		require.Greater(t, used, 5900)
		require.Greater(t, leased, 1000)
	})
}

// TestLeaseAtTheLimit: of a limit, three processes with leases allow every hit, and none more.
func TestLeaseAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		atWindow(time.Hour)
		var mu sync.Mutex
		used, leased := 0, 0
		var callers sync.WaitGroup
		for range 3 {
			l := w.limiter(t, Config{NearCache: -1})
			limit := l.must(t, Rule{Name: "user", Quota: 5000, Window: time.Hour})
			for range 10 {
				callers.Go(func() {
					for range 400 {
						r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
						assert.NoError(t, r.Err)
						mu.Lock()
						if r.Allowed {
							used++
						}
						if r.Leased {
							leased++
						}
						mu.Unlock()
						time.Sleep(time.Millisecond)
					}
				})
			}
		}
		callers.Wait()
		require.Equal(t, 5000, used)
		require.Greater(t, leased, 4000)
	})
}

// TestRefill: Redis grants a share of what remains, and gives the key a time to live.
func TestRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 5000, Window: time.Hour})
		atWindow(time.Hour)
		ask := func(n int64) *refill {
			r := &refill{lease: &keyLease{limit: limit, key: "k"}, window: windowAt(time.Now(), time.Hour), n: n}
			require.NoError(t, l.refillHits(t.Context(), r))
			return r
		}
		r := ask(200)
		require.EqualValues(t, 200, r.granted)
		require.EqualValues(t, 4800, r.free)
		time.Sleep(30 * time.Minute)
		require.EqualValues(t, 200, l.count(t, limit, "k"))
		r = ask(1000)
		require.EqualValues(t, 300, r.granted, "a sixteenth of 4800")
		require.EqualValues(t, 4500, r.free)
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 4490}).Allowed)
		r = ask(1000)
		require.Zero(t, r.granted)
		require.EqualValues(t, 10, r.free)

		// Hits that are given back after their key was lost make its count negative.
		require.NoError(t, w.client.Do(t.Context(), radix.Cmd(nil, "SET", limit.heads(r.window.number).now+"k", "-490")))
		r = ask(10)
		require.EqualValues(t, 10, r.granted)
		require.EqualValues(t, 4990, r.free)
	})
}

// TestRefillBeyondTheLimit: a refill that others have left no room for returns what is over the
// limit, and the lease has the rest.
func TestRefillBeyondTheLimit(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{Observer: seen})
				limit := l.must(t, Rule{Name: "user", Quota: 10_000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				hit := Request{Limit: limit, Key: "k"}
				used := warm(t, l, hit)
				k := l.leases.find(limit, "k")
				rule, others := limit.Rule(), w.limiter(t, Config{})
				rule.NoLease = true
				cost := 9990 - used - k.leftIn(k.number)
				require.True(t, others.Allow(t.Context(), Request{Limit: others.must(t, rule), Key: "k", Cost: cost}).Allowed)
				before := seen.sums()
				for leased := true; leased; { // until it has asked for more
					r := l.Allow(t.Context(), hit)
					if leased = r.Leased; r.Allowed {
						used++
					}
				}
				time.Sleep(10 * time.Millisecond)
				after := seen.sums()
				require.Greater(t, after[sumLeased]-before[sumLeased], int64(10))
				require.Greater(t, after[sumReturned], before[sumReturned])
				require.EqualValues(t, 10_000, l.count(t, limit, "k"))
				require.EqualValues(t, 10_000, used+cost+k.leftIn(k.number))
			})
		})
	}
}

// TestRefillBeyondTheLimitAfterReset: a refill counts too many hits, and Reset deletes the key. The
// refill returns nothing: a key below 0 would allow more hits than the limit.
func TestRefillBeyondTheLimitAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 10_000, Window: time.Hour})
		atWindow(time.Hour)
		warm(t, l, Request{Limit: limit, Key: "k"})
		r := &refill{lease: l.leases.find(limit, "k"), window: windowAt(time.Now(), time.Hour), granted: 2, excess: 3, ended: make(chan struct{})}
		require.NoError(t, l.Reset(t.Context(), limit, "k"))
		l.filled(r)
		time.Sleep(time.Second)
		require.Zero(t, l.count(t, limit, "k"))
	})
}

// TestResetTellsWhatIsUnused: the observer is told of the hits of a lease that Reset has ended.
func TestResetTellsWhatIsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(ledger)
		l := newWorld(t).limiter(t, Config{Observer: seen})
		limit := l.must(t, Rule{Name: "user", Quota: 10_000, Window: time.Hour})
		atWindow(time.Hour)
		warm(t, l, Request{Limit: limit, Key: "k"})
		synctest.Wait()
		before, left := seen.sums()[sumUnused], l.leases.find(limit, "k").Left()
		require.Positive(t, left)
		for _, other := range []Rule{ // that share no counts with it
			{Name: "user", Quota: 10_000, Window: time.Minute},
			{Name: "user", Quota: 10_000, Window: time.Hour, Algorithm: TokenBucket},
		} {
			require.NoError(t, l.Reset(t.Context(), l.must(t, other), "k"))
			require.Equal(t, before, seen.sums()[sumUnused])
		}
		require.NoError(t, l.Reset(t.Context(), l.must(t, Rule{Name: "user", Quota: 5000, Window: time.Hour, Algorithm: SlidingWindow}), "k"))
		require.Equal(t, before+left, seen.sums()[sumUnused])
	})
}

// TestStoppedLeaseHasNoTokens: what a Reset has told as unused is not told again when its time has come.
func TestStoppedLeaseHasNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(ledger)
		l := newWorld(t).limiter(t, Config{Observer: seen})
		q := Request{Limit: l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: TokenBucket}), Key: "k"}
		warm(t, l, q)
		synctest.Wait()
		before := seen.sums()[sumUnused]
		stopped := l.leases.stop(func(*Limit) bool { return true }, "k", false)
		require.Len(t, stopped, 1)
		require.Positive(t, stopped[0].unused)
		time.Sleep(time.Minute)
		for range 10 { // until the lease is looked at
			require.True(t, l.Allow(t.Context(), q).Allowed)
		}
		require.Equal(t, before, seen.sums()[sumUnused])
		require.Zero(t, stopped[0].Left())
	})
}

// TestRefillDuringPause: hits that a lease has asked for are not lost if the server replies only
// after the budget.
func TestRefillDuringPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l := w.limiter(t, Config{Observer: seen, Budget: 20 * time.Millisecond})
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
		atWindow(time.Hour)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 50 * time.Millisecond})
		for ; l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Leased; used++ { // until it asks for more
		}
		used++ // the outcome of the last hit is unknown
		time.Sleep(200 * time.Millisecond)
		lift()
		require.Zero(t, seen.sums()[sumLost])
		k := l.leases.find(limit, "k")
		require.Positive(t, k.leftIn(k.number))
		require.Equal(t, l.count(t, limit, "k"), used+k.leftIn(k.number))
	})
}

// TestRefillWithoutReply: what a lease has asked for is counted as leased and lost if nobody knows
// how many hits it was granted, and not if it was not asked for.
func TestRefillWithoutReply(t *testing.T) {
	for name, c := range map[string]struct {
		algorithm Algorithm
		limit     int64
		asked     bool
	}{
		"far more are free": {FixedWindow, 100_000, true}, "a script looks first": {FixedWindow, 2000, true},
		"sliding window": {SlidingWindow, 100_000, true}, "it has asked for the window before": {SlidingWindow, 2000, false},
		"token bucket": {TokenBucket, 100_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{Observer: seen, Budget: 20 * time.Millisecond})
				limit := l.must(t, Rule{Name: "user", Quota: c.limit, Window: time.Hour, Algorithm: c.algorithm})
				atWindow(time.Hour)
				warm(t, l, Request{Limit: limit, Key: "k"})
				before := seen.sums()
				require.Zero(t, before[sumLost])
				lift := w.net.Impose("", "", simnet.Conditions{Latency: time.Minute})
				for l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Leased { // until it asks for more
				}
				time.Sleep(returnTime)
				lift()
				after := seen.sums()
				if !c.asked {
					require.Zero(t, after[sumLost])
					return
				}
				require.Positive(t, after[sumLost])
				require.Equal(t, after[sumLost], after[sumLeased]-before[sumLeased])
				require.Equal(t, after[sumLost], after[sumCounted]-before[sumCounted])
			})
		})
	}
}
