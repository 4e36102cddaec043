package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server counts the hits of a window: all that are asked for, or none.
type server struct {
	limit, counted int64
	commands       int64 // for hits that are allowed, and refills
}

func (s *server) hit(n int64) bool {
	if s.counted+n > s.limit {
		return false
	}
	s.commands++
	s.counted += n
	return true
}

// offer is what a limiter knows of a window that ends so soon.
func offer(free int64, ends time.Duration) Offer { return Offer{Free: free, Lasts: ends} }

func wants(l *Lease, free int64, lasts time.Duration) int64 {
	n, _ := l.want(offer(free, lasts))
	return n
}

// TestNeverMoreThanTheLimit: processes share windows of a limit, under random demand. Refills
// come late and fail, denied calls give hits back, and a process knows what is free only from its own
// commands. Never more is used than the limit. Where there was more demand, at least 99 % is.
func TestNeverMoreThanTheLimit(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := server{limit: []int64{1, 10, 1000, 50_000}[seed%4]}
		leases, pending := make([]Lease, 1+r.IntN(10)), make(map[int]int64) // refills by lease
		calls, lossy := 3*s.limit, seed%8 >= 4
		weight := r.Float64() // of the first process: from all the demand to its share
		for window := range 3 {
			used, free := int64(0), make([]int64, len(leases))
			s.counted = 0
			for i := range leases {
				leases[i].Next()
				delete(pending, i)
				free[i] = s.limit
			}
			for step := range calls {
				i := r.IntN(len(leases))
				if r.Float64() < weight {
					i = 0
				}
				l := &leases[i]
				at := time.Duration(window)*time.Second + time.Duration(step)*time.Second/time.Duration(calls)
				ok, ask := l.Take(1, at, offer(free[i], time.Duration(window+1)*time.Second-at))
				if ask > 0 {
					require.Zero(t, pending[i], "two refills at a time")
					pending[i] = ask
				}
				if !ok {
					ok, free[i] = s.hit(1), s.limit-s.counted
				} else if r.IntN(10) == 0 { // another limit denies the call
					l.Give(1)
					ok = false
				}
				if ok {
					used++
				}
				for i, n := range pending {
					if r.IntN(10) > 0 {
						continue
					}
					delete(pending, i)
					if lossy && r.IntN(5) == 0 || !s.hit(n) {
						leases[i].Failed()
						continue
					}
					leases[i].Filled(n)
					free[i] = s.limit - s.counted
				}
				left := int64(0)
				for i := range leases {
					if step%20 == 0 {
						surplus, _ := leases[i].Idle(at, 0)
						s.counted -= surplus
					}
					left += leases[i].Left()
				}
				if s.counted > s.limit || s.counted != used+left {
					t.Fatalf("seed %d: %d are counted of %d, %d are used, %d in leases", seed, s.counted, s.limit, used, left)
				}
			}
			require.GreaterOrEqual(t, float64(used), 0.99*float64(s.limit), "seed %d, %d processes", seed, len(leases))
		}
		if s.limit == 50_000 && !lossy {
			require.Less(t, float64(s.commands)/float64(3*s.limit), 0.03, "commands per hit that is allowed")
		}
	}
}

// TestSize: a lease has what the busiest tick needs, but only a share of what remains, and what
// can still be used in its window.
func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		limit, calls int64
		ends         time.Duration
		want         int64
	}{
		"those of a tick":              {1_000_000, 100, time.Second, 100},
		"a share of what remains":      {800, 100, time.Second, 50},
		"half of a tick is left":       {1_000_000, 100, Tick / 2, 50},
		"few remain":                   {60, 100, time.Second, 0},
		"it is hit too rarely":         {1_000_000, 3, time.Second, 0},
		"the window is about to end":   {1_000_000, 100, Tick / 50, 0},
		"the window has ended already": {1_000_000, 100, -Tick, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var l Lease
			for range c.calls {
				l.Take(1, 0, Offer{})
			}
			require.Equal(t, c.want, wants(&l, c.limit, c.ends))
		})
	}
}

// TestRefills: a lease asks again when a quarter is left, for more if that did not last until
// the refill came, and after a while if that failed.
func TestRefills(t *testing.T) {
	var l Lease
	take := func(n int64, at time.Duration) (ask int64) {
		for range n {
			if _, more := l.Take(1, at, offer(1_000_000, time.Second)); more > 0 {
				require.Zero(t, ask)
				ask = more
			}
		}
		return ask
	}
	require.EqualValues(t, 4, take(100, 0))
	l.Filled(100)
	require.Zero(t, take(75, Tick))
	require.EqualValues(t, 76, take(1, Tick))
	require.Zero(t, take(25, Tick), "one is under way")
	l.Filled(76)
	require.EqualValues(t, 202, wants(&l, 1_000_000, time.Second), "it ran dry")

	require.NotZero(t, take(70, 2*Tick))
	l.Failed()
	require.Zero(t, take(100, 3*Tick))
	require.Zero(t, take(10, 6*Tick))
	require.NotZero(t, take(10, 7*Tick))
}

// TestDearHitsAskForNoRefill: a hit that costs more than the lease should have asks for no refill.
// All processes would hold hits that no such hit could use.
func TestDearHitsAskForNoRefill(t *testing.T) {
	for cost, asks := range map[int64]bool{60: true, 62: true, 63: false, 500: false} {
		var l Lease
		for range 10 {
			_, ask := l.Take(cost, 0, offer(1000, time.Second)) // of which a lease has 62 at most
			require.Equal(t, asks, ask > 0, "cost %d", cost)
			l.Filled(0)
		}
	}
}

// TestGiveBack: the hits of a denied call go back into the lease.
func TestGiveBack(t *testing.T) {
	var l Lease
	for range 100 {
		l.Take(1, 0, Offer{})
	}
	l.Filled(62)
	ok, _ := l.Take(60, 0, offer(900, time.Second))
	require.True(t, ok)
	l.Give(60)
	require.EqualValues(t, 62, l.Left())
	ok, _ = l.Take(63, 0, offer(900, time.Second))
	require.False(t, ok, "all or nothing")
	require.EqualValues(t, 62, l.Left())
	l.Next()
	require.Zero(t, l.Left())
}

// TestTokensFlowAway: a lease of a bucket has as many tokens more as flow away in its time, and a share of what
// is free with them.
func TestTokensFlowAway(t *testing.T) {
	for free, want := range map[int64][2]int64{1_000_000: {100, 50}, 1200: {50, 25}, 150: {6, 3}, 60: {0, 0}} {
		var l Lease
		for range 100 {
			l.Take(1, 0, Offer{})
		}
		n, extra := l.want(Offer{Free: free, Lasts: time.Second, Per: float64(Tick) / 50})
		require.Equal(t, want, [2]int64{n, extra}, "%d are free", free)
	}
}

// TestSizeOfSlowKeys: a lease may last until its window ends only if that does not matter.
func TestSizeOfSlowKeys(t *testing.T) {
	for limit, want := range map[int64]int64{10_000: 7, 1_000_000: 40} {
		var l Lease
		l.Begin(40, 0)
		require.Equal(t, want, wants(&l, limit, 8*time.Second), "limit %d", limit)
		require.EqualValues(t, 40, wants(&l, limit, 8*SlowTick), "limit %d", limit)
	}
}

// TestIdle: hits that nobody uses for two ticks are returned, of a slow key for one. A lease that
// nobody uses for long is over.
func TestIdle(t *testing.T) {
	var l Lease
	for range 100 {
		l.Take(1, 0, Offer{})
	}
	l.Filled(300)
	surplus, _ := l.Idle(2*Tick, float64(Tick)/50)
	require.Zero(t, surplus, "tokens that flow away")
	surplus, over := l.Idle(2*Tick, 0)
	require.EqualValues(t, 100, surplus, "more than two ticks need")
	require.False(t, over)
	surplus, over = l.Idle(2*Tick+1, 0)
	require.EqualValues(t, 200, surplus)
	require.False(t, over)
	surplus, over = l.Idle(time.Second+1, 0)
	require.Zero(t, surplus)
	require.True(t, over)

	l = Lease{}
	l.Begin(40, 0)
	l.Filled(40)
	surplus, over = l.Idle(SlowTick, 0)
	require.Zero(t, surplus)
	require.False(t, over)
	surplus, over = l.Idle(SlowTick+1, 0)
	require.EqualValues(t, 40, surplus)
	require.True(t, over)
}

// TestRefillsAreFew: a key that is hit 2,500 times a second or more needs at most 0.03 refills
// for each hit.
func TestRefillsAreFew(t *testing.T) {
	for _, rate := range []int64{2500, 10_000, 1_000_000} {
		var l Lease
		r := rand.New(rand.NewPCG(1, 2))
		refills, hits, at := 0, 0, 0.0
		for at < 1 {
			at += r.ExpFloat64() / float64(rate)
			hits++
			_, ask := l.Take(1, time.Duration(at*float64(time.Second)), offer(100*rate, 10*time.Second))
			if ask > 0 {
				refills++
				l.Filled(ask)
			}
		}
		require.Less(t, float64(refills)/float64(hits), 0.03, "%d hits a second", rate)
		t.Log(rate, float64(refills)/float64(hits))
	}
}

// TestTicksFollowTheRate: a key that is hit rarely has a lease that lasts longer. One that is hit more
// often has one for a tick only.
func TestTicksFollowTheRate(t *testing.T) {
	var l Lease
	at := time.Second
	hit := func(rate float64, during time.Duration) (perHit float64) {
		refills, hits := 0, 0
		for end := at + during; at < end; at += time.Duration(float64(time.Second) / rate) {
			hits++
			if _, ask := l.Take(1, at, offer(1_000_000, time.Minute)); ask > 0 {
				refills++
				l.Filled(ask)
			}
		}
		return float64(refills) / float64(hits)
	}
	for range 2 {
		hit(15, 5*time.Second)
		require.Less(t, hit(15, 20*time.Second), 0.06)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(64), "at most twice those of a slow tick")
		hit(100, 2*time.Second)
		require.Less(t, hit(100, 10*time.Second), 0.05)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(128))
		hit(2500, time.Second)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(100), "at most twice those of a tick")
		require.Less(t, hit(2500, time.Second), 0.03)
	}
}
