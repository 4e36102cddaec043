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

// hit takes a hit and notes it.
func hit(l *Lease, cost int64, at time.Duration, o Offer) (ok bool, ask int64) {
	ok = l.Take(cost, new(Stretch))
	ask, _ = l.Ask(cost, at, o)
	return ok, ask
}

func fill(l *Lease, n int64) { l.Filled(Stretch{N: n}) }

func sum(all []Stretch) (n int64) {
	for _, s := range all {
		n += s.N
	}
	return n
}

// hot returns the lease of a key whose ticks are the shortest.
func hot() Lease { return Lease{rate: rate{speed: fastest, busiest: 1, cost: 1}} }

func wants(l *Lease, free int64, lasts time.Duration) int64 {
	return l.want(offer(free, lasts))
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
				ok, ask := hit(l, 1, at, offer(free[i], time.Duration(window+1)*time.Second-at))
				if ask > 0 {
					require.Zero(t, pending[i], "two refills at a time")
					pending[i] = ask
				}
				if !ok {
					ok, free[i] = s.hit(1), s.limit-s.counted
				} else if r.IntN(10) == 0 { // another limit denies the call
					l.Give(Stretch{N: 1})
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
					fill(&leases[i], n)
					free[i] = s.limit - s.counted
				}
				left := int64(0)
				for i := range leases {
					if step%20 == 0 {
						surplus, _ := leases[i].Idle(at, false)
						s.counted -= sum(surplus)
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
				hit(&l, 1, 0, Offer{})
			}
			require.Equal(t, c.want, wants(&l, c.limit, c.ends))
		})
	}
}

// TestRefills: a lease asks again when a quarter is left, for more if that did not last until
// the refill came, and after a while if that failed.
func TestRefills(t *testing.T) {
	l := hot()
	take := func(n int64, at time.Duration) (ask int64) {
		for range n {
			if _, more := hit(&l, 1, at, offer(1_000_000, time.Second)); more > 0 {
				require.Zero(t, ask)
				ask = more
			}
		}
		return ask
	}
	require.EqualValues(t, fewest, take(100, 0))
	fill(&l, 100)
	require.Zero(t, take(75, Tick))
	require.EqualValues(t, 76, take(1, Tick))
	require.Zero(t, take(25, Tick), "one is under way")
	fill(&l, 76)
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
		for i := range 10 {
			_, ask := hit(&l, cost, 0, offer(1000, time.Second)) // of which a lease has 62 at most
			require.Equal(t, asks && i+1 >= fewest, ask > 0, "cost %d", cost)
			fill(&l, 0)
		}
	}
}

// TestCallsCount: a lease is for keys that many calls hit, whatever they cost, and has the hits of a tick.
func TestCallsCount(t *testing.T) {
	var l Lease
	_, ask := hit(&l, 5000, 0, offer(1_000_000, time.Hour))
	require.Zero(t, ask)
	_, ask = hit(&l, 1, 0, offer(1_000_000, time.Hour))
	require.Zero(t, ask)
	l = Lease{}
	refills, calls := 0, 0
	for at := time.Minute; at < 2*time.Minute; at += 100 * time.Millisecond {
		calls++
		if _, ask := hit(&l, 100, at, offer(1_000_000, time.Hour)); ask > 0 {
			refills++
			require.LessOrEqual(t, ask, int64(5200))
			fill(&l, ask)
		}
	}
	require.Less(t, refills, calls/25)
}

// TestGiveBack: the hits of a denied call go back into the lease.
func TestGiveBack(t *testing.T) {
	var l Lease
	fill(&l, 62)
	var taken Stretch
	require.True(t, l.Take(60, &taken))
	l.Give(taken)
	require.EqualValues(t, 62, l.Left())
	require.False(t, l.Take(63, new(Stretch)), "all or nothing")
	require.EqualValues(t, 62, l.Left())
	l.Next()
	require.Zero(t, l.Left())
}

// TestTokensFlowAway: a lease of a bucket has as many tokens more as flow away in its time, and a share of what
// is free with them.
func TestTokensFlowAway(t *testing.T) {
	for free, want := range map[int64]int64{1_000_000: 150, 1200: 75, 150: 9, 60: 0} {
		var l Lease
		for range 100 {
			hit(&l, 1, 0, Offer{})
		}
		require.Equal(t, want, l.want(Offer{Free: free, Lasts: time.Second, Per: float64(Tick) / 50}), "%d are free", free)
	}
}

// TestSizeOfSlowKeys: a lease may last until its window ends only if that does not matter.
func TestSizeOfSlowKeys(t *testing.T) {
	for limit, want := range map[int64]int64{10_000: 7, 1_000_000: 40} {
		l := Lease{rate: rate{busiest: 40, cost: 1, last: time.Hour}}
		require.Equal(t, want, wants(&l, limit, 8*time.Second), "limit %d", limit)
		require.EqualValues(t, 40, wants(&l, limit, 8*SlowTick), "limit %d", limit)
	}
}

// TestYoungProcess: a lease lasts for half of the time for which the process has run, at most.
func TestYoungProcess(t *testing.T) {
	for ran, want := range map[time.Duration]int64{0: 0, 2 * time.Second: 7, 5 * time.Second: 19, time.Minute: 40} {
		l := Lease{rate: rate{busiest: 40, cost: 1, last: ran}}
		require.Equal(t, want, wants(&l, 1_000_000, time.Hour), ran)
	}
}

// TestIdle: hits that nobody uses for two ticks are returned, of a slow key for one. Then the lease is over.
func TestIdle(t *testing.T) {
	l := hot()
	for range 100 {
		hit(&l, 1, 0, Offer{})
	}
	bucket := l
	bucket.Filled(Stretch{N: 300, Per: float64(Tick) / 50})
	surplus, _ := bucket.Idle(Tick, false)
	require.Empty(t, surplus, "tokens that flow away")
	fill(&l, 300)
	surplus, again := l.Idle(2*Tick-1, false)
	require.EqualValues(t, 100, sum(surplus), "more than two ticks need")
	require.EqualValues(t, 1, again)
	surplus, again = l.Idle(2*Tick, false)
	require.EqualValues(t, 200, sum(surplus))
	require.Equal(t, SlowTick, again)
	l.Give(Stretch{N: 5}) // of a call that was under way
	surplus, _ = l.Idle(2*Tick+SlowTick, false)
	require.EqualValues(t, 5, sum(surplus))
	surplus, again = l.Idle(2*Tick+2*SlowTick, false)
	require.Empty(t, surplus)
	require.Zero(t, again)

	l = Lease{rate: rate{busiest: 40, cost: 1}}
	fill(&l, 40)
	surplus, again = l.Idle(Tick, false)
	require.Empty(t, surplus)
	require.Equal(t, SlowTick-Tick, again)
	ended := l
	surplus, _ = l.Idle(SlowTick, false)
	require.EqualValues(t, 40, sum(surplus))
	surplus, _ = ended.Idle(Tick, true)
	require.EqualValues(t, 40, sum(surplus))
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
			_, ask := hit(&l, 1, time.Duration(at*float64(time.Second)), offer(100*rate, 10*time.Second))
			if ask > 0 {
				refills++
				fill(&l, ask)
			}
		}
		require.Less(t, float64(refills)/float64(hits), 0.03, "%d hits a second", rate)
		t.Log(rate, float64(refills)/float64(hits))
	}
}

// TestRefillsComeInTime: hits and tokens that flow away leave enough of a lease until its refill comes, also if that
// waits for others. The tokens of a bucket may flow away faster than they are hit.
func TestRefillsComeInTime(t *testing.T) {
	for _, rate := range []float64{30, 100, 1000, 10_000} {
		for _, per := range []time.Duration{0, 3600, time.Millisecond} {
			l, r, missed, hits := Lease{}, rand.New(rand.NewPCG(3, 4)), 0, 0
			var refill Stretch
			var comes time.Duration
			for at := time.Duration(0); at < 20*time.Second; at += time.Duration(r.ExpFloat64() / rate * float64(time.Second)) {
				if refill.N > 0 && comes <= at {
					l.Filled(refill)
					refill.N = 0
				}
				l.Expire(at)
				ok := l.Take(1, new(Stretch))
				if n, wait := l.Ask(1, at, Offer{Free: 1e9, Lasts: time.Hour, Per: float64(per)}); n > 0 {
					if comes = at; wait {
						comes += Tick
					}
					refill = Stretch{N: n, Per: float64(per), At: comes, Ends: time.Hour}
					comes += time.Millisecond
				}
				if at > 10*time.Second {
					hits++
					if !ok {
						missed++
					}
				}
			}
			require.Less(t, float64(missed)/float64(hits), 0.01, "%v hits a second, %v for a token", rate, per)
		}
	}
}

// TestTicksFollowTheRate: a key that is hit rarely has a lease that lasts longer. One that is hit more
// often has one for a tick only.
func TestTicksFollowTheRate(t *testing.T) {
	var l Lease
	at := time.Second
	hits := func(rate float64, during time.Duration) (perHit float64) {
		refills, n := 0, 0
		for end := at + during; at < end; at += time.Duration(float64(time.Second) / rate) {
			n++
			if _, ask := hit(&l, 1, at, offer(1_000_000, time.Minute)); ask > 0 {
				refills++
				fill(&l, ask)
			}
		}
		return float64(refills) / float64(n)
	}
	for range 2 {
		hits(15, 5*time.Second)
		require.Less(t, hits(15, 20*time.Second), 0.06)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(154), "at most twice those of a slow tick")
		hits(100, 2*time.Second)
		require.Less(t, hits(100, 10*time.Second), 0.05)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(128))
		hits(2500, time.Second)
		require.LessOrEqual(t, wants(&l, 1_000_000, time.Minute), int64(100), "at most twice those of a tick")
		require.Less(t, hits(2500, time.Second), 0.03)
	}
}
