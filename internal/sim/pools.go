package sim

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A law is how a pool's settings make it follow its load.
type law struct {
	Exclusive   bool // a connection is for one caller at a time
	Least, Most int  // connections
	Depth       int  // load that one connection carries
	Quiet       time.Duration
	PingEvery   time.Duration // 0: unknown or never
	MaxAge      time.Duration // of connections; 0: none
}

// lawOf returns the law of a pool; the zero law if nothing is set.
func lawOf(c pool.Config) law {
	const usualQuiet, deepest = 10 * time.Second, 256
	l := law{}
	switch c := c.(type) {
	case pool.Fixed:
		return law{Exclusive: true, Least: c.Size, Most: c.Size, Depth: 1, PingEvery: c.PingEvery, MaxAge: c.MaxAge}
	case pool.Adaptive:
		l = law{Exclusive: true, Least: c.Min, Most: c.Max, Depth: 1, Quiet: c.IdleTimeout, PingEvery: c.PingEvery, MaxAge: c.MaxAge}
	case pool.Laned:
		l = law{Least: c.Lanes, Most: c.MaxLanes, Depth: deepest, Quiet: c.IdleTimeout, PingEvery: c.PingEvery, MaxAge: c.MaxAge}
		if c.MaxInFlight > 0 {
			l.Depth = min(c.MaxInFlight, deepest)
		}
	}
	if l.Quiet == 0 {
		l.Quiet = usualQuiet
	}
	return l
}

// ranged reports whether the pool's size changes.
func (l law) ranged() bool { return l.Least < l.Most }

// sized returns how many connections a pool keeps for a load when it shrinks: the load is
// to be three quarters of what they carry, unless the least number of them carries it.
func (l law) sized(load int) int {
	if load <= l.Least*l.Depth {
		return l.Least
	}
	full := 3 * l.Depth
	return min(max((4*load+full-1)/full, l.Least), l.Most)
}

// suitPool gives half of the worlds whose schedule is made of scenes a pool of a kind that
// some scenes are about, and that is rare otherwise. It
// returns its options.
func (s *Settings) suitPool(seed uint64, o pool.Options) pool.Options {
	r := source(seed, ofPools, 0)
	if !scenic(seed) || chance(r, 2) {
		return o
	}
	o.MaxWaiters = 0
	switch r.IntN(3) {
	case 0:
		o.FailFast, o.PingEvery = chance(r, 2), time.Second
		size := 6 + r.IntN(5)
		s.Config.Pool, s.Strategy, s.Terms.MaxConns = pool.Fixed{Size: size, Options: o}, "", size
	case 1:
		o.FailFast = chance(r, 4)
		most := 7 + r.IntN(4)
		s.Config.Pool, s.Strategy, s.Terms.MaxConns = pool.Adaptive{Min: 1, Max: most, IdleTimeout: time.Second, Options: o}, "", most
	case 2:
		s.suitLanes(r, o)
	}
	return o
}

// suitLanes gives the world lanes of which there are more when many callers call.
func (s *Settings) suitLanes(r *rand.Rand, o pool.Options) {
	l := pool.Laned{
		Lanes: 1, MaxLanes: 5 + r.IntN(3), MaxInFlight: oneOf(r, 2, 4, 4), IdleTimeout: time.Second, MaxDedicated: oneOf(r, 2, 4),
		NoSlowLanes: chance(r, 2), Options: o,
	}
	l.Strategy, s.Strategy = lanes.RoundRobin, "RoundRobin"
	if chance(r, 2) {
		l.Strategy, s.Strategy = lanes.LeastUsed, "LeastUsed"
	}
	s.Config.Pool, s.Terms.MaxConns = l, l.MaxLanes+2+l.MaxDedicated
}
