package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hitted notes so many calls and returns the last estimate.
func hitted(r *Rates, hash uint64, at time.Duration, calls int) (estimate uint64) {
	for range calls {
		estimate, _ = r.Hit(hash, at)
	}
	return estimate
}

// TestRates: calls in a tick or in the one before, by key.
func TestRates(t *testing.T) {
	r := NewRates(1 << 8)
	calls := func(hash uint64, at time.Duration) uint64 { return hitted(r, hash, at, 1) }
	require.EqualValues(t, 100, hitted(r, 1, 0, 100))
	require.EqualValues(t, 1, calls(2, 0))
	require.EqualValues(t, 200, hitted(r, 1+1<<8, SlowTick-1, 100), "of both keys that share the counter")
	require.EqualValues(t, 200, calls(1, SlowTick), "in the tick before")
	require.EqualValues(t, 1, calls(1, 3*SlowTick), "they are long ago")
	require.EqualValues(t, atMost, hitted(r, 3, 0, 100_000))
	require.EqualValues(t, atMost, calls(3, SlowTick))
	require.EqualValues(t, 1, calls(4, SlowTick))
}

// TestRate: as many calls as a whole tick will have, if they go on to come as often.
func TestRate(t *testing.T) {
	for name, c := range map[string]struct {
		at    time.Duration
		calls int
		want  uint64
	}{
		"half of the tick has passed":  {SlowTick / 2, 6, 12},
		"all of it":                    {SlowTick - 1, 6, 6},
		"a burst at the beginning":     {SlowTick / 1000, 6, 96},
		"more were in the tick before": {SlowTick + SlowTick/2, 1, 40},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRates(1 << 8)
			if c.at > SlowTick {
				hitted(r, 1, 0, 40)
			}
			hitted(r, 1, c.at, c.calls-1)
			_, rate := r.Hit(1, c.at)
			require.Equal(t, c.want, rate)
		})
	}
}

// server counts the hits of a window.
type server struct {
	limit, counted int64
	excess         int64 // counted beyond the limit, until it is returned
	commands       int64 // for hits that are allowed, and refills
}

// refill counts the hits as the script of a refill does or, if many more seemed to be free, all.
func (s *server) refill(n int64, ample bool) (got, free int64) {
	s.commands++
	if ample {
		s.counted += n
		over := min(n, max(0, s.counted-s.limit))
		s.excess += over
		return n - over, s.limit - s.counted
	}
	got = max(0, min(n, (s.limit-s.counted)/Share))
	s.counted += got
	return got, s.limit - s.counted
}

// hit is a hit that no lease has, which is taken back if it does not fit.
func (s *server) hit() bool {
	if s.counted >= s.limit {
		return false
	}
	s.commands++
	s.counted++
	return true
}

// TestNeverMoreThanTheLimit: processes share windows of a limit, under random demand. Refills
// come late and fail, denied calls give hits back, and a process ends. Never more is used than
// the limit. Where there was more demand, at least 99 % is.
func TestNeverMoreThanTheLimit(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := server{limit: []int64{1, 10, 1000, 50_000}[seed%4]}
		leases, pending := make([]Lease, 1+r.IntN(10)), make(map[int]int64) // refills by lease
		ample := make(map[int]bool)
		calls, lossy := 3*s.limit, seed%8 >= 4
		weight := r.Float64() // of the first process: from all the demand to its share
		for window := range 3 {
			used := int64(0)
			s.counted, s.excess = 0, 0
			for i := range leases {
				leases[i].Next(s.limit)
				delete(pending, i)
			}
			for step := range calls {
				i := r.IntN(len(leases))
				if r.Float64() < weight {
					i = 0
				}
				l := &leases[i]
				at := time.Duration(window)*time.Second + time.Duration(step)*time.Second/time.Duration(calls)
				ok, ask := l.Take(1, at, time.Duration(window+1)*time.Second-at)
				if ask > 0 && pending[i] > 0 {
					t.Fatal("two refills at a time")
				} else if ask > 0 {
					pending[i], ample[i] = ask, l.Ample(ask)
				}
				if !ok {
					ok = s.hit()
					l.Learn(s.limit-s.counted, l.Fills())
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
					if lossy && r.IntN(5) == 0 {
						leases[i].Failed()
						continue
					}
					leases[i].Filled(s.refill(n, ample[i]))
				}
				if step%5 == 0 {
					s.counted -= s.excess
					s.excess = 0
				}
				if step%20 == 0 {
					for i := range leases {
						surplus, _ := leases[i].Idle(at)
						s.counted -= surplus
					}
				}
				left := int64(0)
				for i := range leases {
					left += leases[i].Left()
				}
				if s.counted > s.limit+s.excess || s.counted != used+left+s.excess {
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
			l.Next(c.limit)
			for range c.calls {
				l.Take(1, 0, 0)
			}
			require.Equal(t, c.want, l.want(c.ends))
		})
	}
}

// TestRefills: a lease asks again when a quarter is left, for more if that did not last until
// the refill came, and after a while if that failed.
func TestRefills(t *testing.T) {
	var l Lease
	l.Next(1_000_000)
	take := func(n int64, at time.Duration) (ask int64) {
		for range n {
			if _, more := l.Take(1, at, time.Second); more > 0 {
				require.Zero(t, ask)
				ask = more
			}
		}
		return ask
	}
	require.EqualValues(t, 4, take(100, 0))
	l.Filled(100, 999_900)
	require.Zero(t, take(75, Tick))
	require.EqualValues(t, 76, take(1, Tick))
	require.Zero(t, take(25, Tick), "one is under way")
	l.Filled(76, 999_800)
	require.EqualValues(t, 202, l.want(time.Second), "it ran dry")

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
		l.Next(1000) // a lease has 62 hits of it at most
		for range 10 {
			_, ask := l.Take(cost, 0, time.Second)
			require.Equal(t, asks, ask > 0, "cost %d", cost)
			l.Filled(0, 1000)
		}
	}
}

// TestGiveBack: the hits of a denied call go back into the lease.
func TestGiveBack(t *testing.T) {
	var l Lease
	l.Next(1000)
	for range 100 {
		l.Take(1, 0, 0)
	}
	l.Filled(62, 900)
	ok, _ := l.Take(60, 0, time.Second)
	require.True(t, ok)
	l.Give(60)
	require.EqualValues(t, 62, l.Left())
	ok, _ = l.Take(63, 0, time.Second)
	require.False(t, ok, "all or nothing")
	require.EqualValues(t, 62, l.Left())
	require.EqualValues(t, 62, l.Next(1000))
	require.Zero(t, l.Left())
}

// TestSizeOfSlowKeys: a lease may last until its window ends only if that does not matter.
func TestSizeOfSlowKeys(t *testing.T) {
	for limit, want := range map[int64]int64{10_000: 7, 1_000_000: 40} {
		var l Lease
		l.Next(limit)
		l.Begin(40, 0)
		require.Equal(t, want, l.want(8*time.Second), "limit %d", limit)
		require.EqualValues(t, 40, l.want(8*SlowTick), "limit %d", limit)
	}
}

// TestAmple: how many hits a refill may count without care, before a reply has said what remains
// and after that.
func TestAmple(t *testing.T) {
	var l Lease
	l.Next(64_000)
	require.True(t, l.Ample(62))
	require.False(t, l.Ample(63))
	l.Learn(32_000, 0)
	require.True(t, l.Ample(500))
	require.False(t, l.Ample(501))
	l.Next(64_000)
	require.False(t, l.Ample(63))
	l.Filled(1, 6400)
	require.True(t, l.Ample(100))
	require.False(t, l.Ample(101))
}

// TestIdle: hits that nobody uses for two ticks are returned, of a slow key for one. A lease that
// nobody uses for long is over.
func TestIdle(t *testing.T) {
	var l Lease
	l.Next(1_000_000)
	for range 100 {
		l.Take(1, 0, 0)
	}
	l.Filled(300, 999_000)
	surplus, over := l.Idle(2 * Tick)
	require.EqualValues(t, 100, surplus, "more than two ticks need")
	require.False(t, over)
	require.EqualValues(t, 999_300, l.Free())
	surplus, over = l.Idle(2*Tick + 1)
	require.EqualValues(t, 200, surplus)
	require.False(t, over)
	surplus, over = l.Idle(time.Second + 1)
	require.Zero(t, surplus)
	require.True(t, over)

	l = Lease{}
	l.Next(1_000_000)
	l.Begin(40, 0)
	l.Filled(40, 999_000)
	surplus, over = l.Idle(SlowTick)
	require.Zero(t, surplus)
	require.False(t, over)
	surplus, over = l.Idle(SlowTick + 1)
	require.EqualValues(t, 40, surplus)
	require.True(t, over)
}

// TestRefillsAreFew: a key that is hit 2,500 times a second or more needs at most 0.03 refills
// for each hit.
func TestRefillsAreFew(t *testing.T) {
	for _, rate := range []int64{2500, 10_000, 1_000_000} {
		var l Lease
		l.Next(100 * rate)
		r := rand.New(rand.NewPCG(1, 2))
		refills, hits, at := 0, 0, 0.0
		for at < 1 {
			at += r.ExpFloat64() / float64(rate)
			hits++
			_, ask := l.Take(1, time.Duration(at*float64(time.Second)), 10*time.Second)
			if ask > 0 {
				refills++
				l.Filled(ask, 100*rate)
			}
		}
		require.Less(t, float64(refills)/float64(hits), 0.03, "%d hits a second", rate)
		t.Log(rate, float64(refills)/float64(hits))
	}
}

// TestWhatIsFree: of a hit and a refill at the same time, the replies may come in any order.
func TestWhatIsFree(t *testing.T) {
	for name, c := range map[string]struct{ refill, hit int64 }{ // what the replies say
		"the refill was first": {refill: 900, hit: 400}, "the hit was first": {refill: 400, hit: 500},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range []bool{false, true} {
				var l Lease
				l.Next(1000)
				for range 9 {
					l.Take(1, 0, 0)
				}
				_, ask := l.Take(1, 0, time.Second)
				require.NotZero(t, ask)
				fills := l.Fills()
				if order {
					l.Filled(100, c.refill)
					l.Learn(c.hit, fills)
				} else {
					l.Learn(c.hit, fills)
					l.Filled(100, c.refill)
				}
				require.EqualValues(t, 500, l.Free())
			}
		})
	}
}

// TestTicksFollowTheRate: a key that is hit rarely has a lease that lasts longer. One that is hit more
// often has one for a tick only.
func TestTicksFollowTheRate(t *testing.T) {
	var l Lease
	l.Next(1_000_000)
	at := time.Second
	hit := func(rate float64, during time.Duration) (perHit float64) {
		refills, hits := 0, 0
		for end := at + during; at < end; at += time.Duration(float64(time.Second) / rate) {
			hits++
			if _, ask := l.Take(1, at, time.Minute); ask > 0 {
				refills++
				l.Filled(ask, 1_000_000)
			}
		}
		return float64(refills) / float64(hits)
	}
	for range 2 {
		hit(15, 5*time.Second)
		require.Less(t, hit(15, 20*time.Second), 0.06)
		require.LessOrEqual(t, l.want(time.Minute), int64(64), "at most twice those of a slow tick")
		hit(100, 2*time.Second)
		require.Less(t, hit(100, 10*time.Second), 0.05)
		require.LessOrEqual(t, l.want(time.Minute), int64(128))
		hit(2500, time.Second)
		require.LessOrEqual(t, l.want(time.Minute), int64(100), "at most twice those of a tick")
		require.Less(t, hit(2500, time.Second), 0.03)
	}
}
