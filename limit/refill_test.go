package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
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
					assert.LessOrEqual(t, used, int(10*window.At(time.Now(), 2*time.Second).Elapsed/time.Millisecond))
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
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
		for ; r.Leased; used++ { // until it asks for more
			r = l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
		}
		if errors.Is(r.Err, redislanes.ErrUnknownOutcome) { // else it was not sent
			used++
		}
		time.Sleep(200 * time.Millisecond)
		lift()
		require.Zero(t, seen.sums()[sumLost])
		time.Sleep(idleLong + time.Second) // what nobody has used is given back
		require.Equal(t, used, l.count(t, limit, "k"))
	})
}

// TestResetEndsLeases: those of limits that share their counts with the one that is reset.
func TestResetEndsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 10_000, Window: time.Hour})
		atWindow(time.Hour)
		warm(t, l, Request{Limit: limit, Key: "k"})
		synctest.Wait()
		left := l.left(limit, "k")
		require.Positive(t, left)
		for _, other := range []Rule{ // that share no counts with it
			{Name: "user", Quota: 10_000, Window: time.Minute},
			{Name: "user", Quota: 10_000, Window: time.Hour, Algorithm: TokenBucket},
		} {
			require.NoError(t, l.Reset(t.Context(), l.must(t, other), "k"))
			require.Equal(t, left, l.left(limit, "k"))
		}
		require.NoError(t, l.Reset(t.Context(), l.must(t, Rule{Name: "user", Quota: 5000, Window: time.Hour}), "k"))
		require.Zero(t, l.left(limit, "k"))
	})
}

// TestRefillWithoutReply: what a lease has asked for is counted as leased and lost if nobody knows whether it was
// granted.
func TestRefillWithoutReply(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{Observer: seen, Budget: 20 * time.Millisecond})
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: 1000 * time.Hour, Algorithm: algorithm})
				atWindow(1000 * time.Hour)
				warm(t, l, Request{Limit: limit, Key: "k"})
				before := seen.sums()
				require.Zero(t, before[sumLost])
				lift := w.net.Impose("", "", simnet.Conditions{Latency: time.Minute})
				for l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Leased { // until it asks for more
				}
				time.Sleep(returnTime)
				lift()
				after := seen.sums()
				require.Positive(t, after[sumLost])
				require.Equal(t, after[sumLost], after[sumLeased]-before[sumLeased])
				require.Equal(t, after[sumLost], after[sumCounted]-before[sumCounted])
			})
		})
	}
}

// hitAll hits each key once every 100 ms, and returns how many hits leases have decided about.
func hitAll(t *testing.T, l *Limiter, limit *Limit, keys []string, times int) (leased int) {
	t.Helper()
	for range times {
		for _, key := range keys {
			r := l.Allow(t.Context(), Request{Limit: limit, Key: key})
			require.NoError(t, r.Err)
			require.True(t, r.Allowed)
			if r.Leased {
				leased++
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return leased
}

func manyKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, strconv.Itoa(i))
	}
	return keys
}

// TestRefillsTravelTogether: refills of keys that are hit rarely share round trips to the nodes, and come
// before the hits have been used up.
func TestRefillsTravelTogether(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var trips atomic.Int64
				w := newTracedWorld(t, &redislanes.Trace{EndGroup: func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { trips.Add(1) }})
				l, keys := w.limiter(t, Config{}), manyKeys(300)
				limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				hitAll(t, l, limit, keys, 20)
				began := trips.Load()
				require.Greater(t, hitAll(t, l, limit, keys, 100), 300*100*999/1000)
				require.Less(t, trips.Load()-began, int64(300*100/100))
			})
		})
	}
}

// TestRefillsBesideASilentNode: it delays the refills of its own keys alone.
func TestRefillsBesideASilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, keys := w.limiter(t, Config{}), manyKeys(300)
		limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour})
		atWindow(time.Hour)
		hitAll(t, l, limit, keys, 10)
		silent := w.model.Nodes()[0].Addr()
		var others, own []string
		for _, key := range keys {
			if w.client.Primary(cluster.Slot(l.places(limit, time.Now(), key)[1])) == silent {
				own = append(own, key)
			} else {
				others = append(others, key)
			}
		}
		defer w.net.Impose("", silent, simnet.Conditions{Latency: time.Hour})()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 60 { // on all, so that refills of the silent node's keys are under way, too
			for _, key := range own {
				require.True(t, l.Allow(ended, Request{Limit: limit, Key: key}).Allowed)
			}
			require.Equal(t, len(others), hitAll(t, l, limit, others, 1))
		}
	})
}

// waiting hits the key until a refill waits to be sent. It returns how many hits were used.
func waiting(t *testing.T, l *Limiter, limit *Limit) (used int64) {
	t.Helper()
	for ; used < 400; time.Sleep(50 * time.Millisecond) {
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
		used++
		l.counts.mu.Lock()
		n := len(l.counts.unsent)
		l.counts.mu.Unlock()
		if n == 1 && used > 40 {
			return used
		}
	}
	t.Fatal("no refill waits")
	return 0
}

// TestLookBesideAWaitingRefill: a refill that has not been sent changes nothing, and a look does not wait for it.
func TestLookBesideAWaitingRefill(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: 1000 * time.Hour, Algorithm: algorithm})
				atWindow(1000 * time.Hour)
				used, began := waiting(t, l, limit), time.Now()
				r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true})
				require.Equal(t, 100_000-used, r.Remaining)
				require.LessOrEqual(t, time.Since(began), time.Millisecond)
			})
		})
	}
}

// TestEndOfAWaitingRefill: after Reset and after Close nothing is counted for a refill that has waited.
func TestEndOfAWaitingRefill(t *testing.T) {
	for name, reset := range map[string]bool{"Reset": true, "Close": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
				atWindow(time.Hour)
				used := waiting(t, l, limit)
				if reset {
					require.NoError(t, l.Reset(t.Context(), limit, "k"))
					used = 0
				} else {
					require.NoError(t, l.Close())
				}
				time.Sleep(time.Second)
				require.Equal(t, used, other.count(t, limit, "k"))
			})
		})
	}
}

// TestCloseDuringRefills: what Redis grants while the limiter is closed is given back, of many keys at once.
func TestCloseDuringRefills(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l, other, keys := w.limiter(t, Config{Observer: seen}), w.limiter(t, Config{}), manyKeys(200)
				limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				hitAll(t, l, limit, keys, 20)
				defer w.net.Impose("", "", simnet.Conditions{Latency: 5 * time.Millisecond})()
				used := int64(20)
				for range 20 {
					hitAll(t, l, limit, keys, 1)
					used++
				}
				time.Sleep(lease.Tick + time.Millisecond) // some are under way
				require.NoError(t, l.Close())
				require.Zero(t, seen.sums()[sumLost])
				for _, key := range keys {
					require.Equal(t, used, other.count(t, limit, key))
				}
			})
		})
	}
}
