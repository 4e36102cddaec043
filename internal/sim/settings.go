package sim

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// Settings are what a seed chooses: the cluster, the network, the client and its
// users.
type Settings struct {
	Primaries, Replicas int
	Latency, Jitter     time.Duration // one way
	Callers             int
	Server              string
	KeepsDeadlines      bool
	Password            bool
	OneHost             bool // the nodes differ by their ports only
	Unnamed             bool // and do not say which host it is
	NAT                 bool // the client reaches them at other hosts than they name
	NoCluster           bool // servers have no cluster mode, and there is one primary
	Sentinels           bool // which tell who it is
	DeadSeed            bool // nobody is at the first address that the client is told
	Unset               bool // everything is as the zero Config has it

	Config   cluster.Config
	Counters pipeline.CountersConfig
	Strategy string
	Limiter  limit.Config
	Terms    Terms
}

// choose makes the settings of a seed.
func choose(seed uint64) Settings {
	r := source(seed, ofTopology, 0)
	s := Settings{
		Primaries: oneOf(r, 1, 2, 3, 3, 3, 4), Replicas: oneOf(r, 0, 1, 1, 1, 2),
		Latency: oneOf(r, 50*time.Microsecond, 200*time.Microsecond, 200*time.Microsecond, time.Millisecond, 5*time.Millisecond, 20*time.Millisecond),
		Callers: 2 + r.IntN(5), KeepsDeadlines: chance(r, 2), Password: chance(r, 3),
	}
	s.DeadSeed = chance(r, 4)
	s.OneHost = chance(r, 5)
	s.Unnamed = s.OneHost && chance(r, 2)
	s.Jitter = oneOf(r, 0, s.Latency/4, s.Latency)
	c := source(seed, ofConfig, 0)
	s.Unset = chance(c, 8)
	s.Terms = Terms{Primaries: s.Primaries, RoundTrip: 2 * (s.Latency + s.Jitter)}
	if !s.Unset {
		s.Config.Pool, s.Strategy = choosePool(c, chooseOptions(c))
		s.chooseRest(c)
	}
	nat := source(seed, ofNAT, 0)
	s.NAT = !s.Unset && (chance(nat, 5) || s.Unnamed && chance(nat, 2))
	s.chooseServers(source(seed, ofServers, 0))
	s.Counters.ExpireEveryHit = chance(source(seed, ofHabits, 0), 3)
	s.Server = oneOf(source(seed, ofDialect, 0), "", "redis-8.10", "valkey-9")
	s.chooseLimits(seed)
	return s
}

func chooseOptions(r *rand.Rand) pool.Options {
	return pool.Options{
		MaxWaiters:   oneOf(r, 0, 0, 0, 0, 20, -1),
		StallTimeout: oneOf(r, 0, 0, time.Second, 2*time.Second),
		SuspectAfter: oneOf(r, 0, 0, 200*time.Millisecond),
		MaxAge:       oneOf(r, 0, 0, 0, 10*time.Second, time.Minute),
	}
}

// choosePool returns the settings of a pool and the name of its strategy.
func choosePool(r *rand.Rand, o pool.Options) (c pool.Config, strategy string) {
	switch r.IntN(4) {
	case 0:
		return pool.Fixed{Size: oneOf(r, 1, 2, 4, 8), Options: o}, ""
	case 1:
		least := oneOf(r, 1, 1, 2)
		most := least + r.IntN(10)
		return pool.Adaptive{Min: least, Max: most, IdleTimeout: oneOf(r, 0, time.Second), Options: o}, ""
	}
	l := pool.Laned{
		Lanes: oneOf(r, 1, 1, 2, 4), MaxDedicated: oneOf(r, 2, 4, 8),
		MaxInFlight: oneOf(r, 0, 0, 1, 8, 64), Options: o,
	}
	if chance(r, 4) {
		l.SlowLanes = -1
	} else {
		l.SlowLanes = oneOf(r, 0, 1, 2)
	}
	strategies := []struct {
		name string
		is   lanes.Strategy
	}{
		{"FirstFit", lanes.FirstFit}, {"RoundRobin", lanes.RoundRobin}, {"LeastUsed", lanes.LeastUsed},
		{"PowerOfTwo", lanes.PowerOfTwo}, {"ByKey", lanes.ByKey}, {"Affinity", lanes.Affinity},
	}
	st := oneOf(r, strategies...)
	l.Strategy = st.is
	return l, st.name
}

func (s *Settings) chooseRest(r *rand.Rand) {
	s.Config.RefreshEvery = oneOf(r, 0, 0, 5*time.Second, -1)
	s.Config.RetryWindow = oneOf(r, 0, 0, 0, 300*time.Millisecond, 2*time.Second, -1, cluster.WhileContextLasts)
	s.Config.Slow = oneOf(r, nil, nil, []string{"SET"}, []string{"INCRBY", "expire", "EVAL", "EVALSHA"})
	s.Config.Dialer.Protocol = oneOf(r, 0, 2, 3)
	s.Config.Dialer.ClientName = oneOf(r, "", "limiter")
	s.Config.Dialer.Timeout = oneOf(r, 0, 0, time.Second)
}
