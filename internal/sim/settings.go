package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pool"
)

// Settings are what a seed chooses: the cluster, the network, the client and its
// users.
type Settings struct {
	Primaries, Replicas int
	Latency, Jitter     time.Duration // one way
	Callers             int
	KeepsDeadlines      bool
	Refusal             error // of setting a deadline that is not kept
	Dialing             dialing
	Password            bool
	OneHost             bool          // the nodes differ by their ports only
	Unnamed             bool          // and do not say which host it is
	NAT                 bool          // the client reaches them at other hosts than they name
	NoCluster           bool          // servers have no cluster mode, and there is one primary
	Sentinels           bool          // which tell who it is
	Proxy               bool          // there is a proxy before it
	Names               naming        // that the nodes of a shard have together
	Tokens              time.Duration // that what Credentials returns lives for; 0: it does not end
	Unready             int           // whether servers are ready when New is called
	DeadSeed            bool          // nobody is at the first address that the client is told
	Old                 bool          // servers know no EXPIRE NX
	Stuck               time.Duration // from when on the log does not return; 0: it does
	Unset               bool          // everything is as the zero Config has it
	Trace               bool          // print errors and the log as they come

	Config   cluster.Config
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
	if chance(r, 2) {
		s.Refusal = errors.ErrUnsupported
	}
	s.Dialing = oneOf(source(seed, ofDialing, 0), wellBehaved, wellBehaved, wellBehaved, wellBehaved, wellBehaved, wellBehaved, late, stubborn)
	s.Jitter = oneOf(r, 0, s.Latency/4, s.Latency)
	c := source(seed, ofConfig, 0)
	s.Unset = chance(c, 8)
	s.Terms = Terms{Primaries: s.Primaries, Grace: time.Second, RoundTrip: 2 * (s.Latency + s.Jitter), LeastTrip: 2 * s.Latency, MaxConns: 4 + 2 + pool.DefaultSize}
	stall := 3 * time.Second
	s.Terms.Stubborn = s.Dialing == stubborn
	s.Terms.Parting = [...]time.Duration{late: 100 * time.Millisecond, stubborn: time.Second}[s.Dialing]
	s.Terms.Roomy, s.Terms.Pings, s.Terms.Rest = true, true, restFor(pool.Options{})
	if !s.Unset {
		var o pool.Options
		o, stall = chooseOptions(c)
		if seldom := source(seed, ofSeldom, 0); scenic(seed) && chance(seldom, 2) {
			o, stall = seldomOptions(seldom, o)
		}
		s.Config.Pool, s.Strategy, s.Terms.MaxConns = choosePool(c, o)
		o = s.suitPool(seed, s.makeRoom(seed, o))
		s.chooseRest(c)
		s.chooseSeldom(seed)
		l, laned := s.Config.Pool.(pool.Laned)
		s.Terms.Roomy = laned && (l.MaxInFlight == 0 || l.MaxInFlight > 8) && l.MaxQueuedBytes != 1<<10
		s.Terms.FewCalls = o.FailFast || o.MaxWaiters > 0
		s.Terms.Pings, s.Terms.Rest = o.PingEvery >= 0, restFor(o)
	}
	nat := source(seed, ofNAT, 0)
	s.NAT = !s.Unset && (chance(nat, 5) || s.Unnamed && chance(nat, 2))
	s.chooseServers(source(seed, ofServers, 0))
	if scenic(seed) {
		s.chooseForScenes(source(seed, ofScenes, 1))
	}
	if s.Terms.Askers = 1; s.lanes() > 0 {
		s.Terms.Askers = 2 // for slow commands, too
	}
	s.suitServers(seed)
	s.chooseTokens(source(seed, ofTokens, 0))
	s.chooseNames(source(seed, ofNames, 0))
	s.Terms.MinConns, s.Terms.Law = leastConns(s.Config.Pool), lawOf(s.Config.Pool)
	s.Terms.FailFast = s.Terms.Law.Exclusive && s.options().FailFast && s.options().MaxWaiters == 0
	if !s.Config.Lazy && chance(r, 8) {
		s.Unready = oneOf(r, allLoading, allFull)
	}
	s.chooseMore(seed)
	s.chooseLimits(seed)
	s.Terms.Stall = stall
	s.Terms.Notice = min(2*max(250*time.Millisecond, 20*s.Terms.RoundTrip), stall) + 300*time.Millisecond
	return s
}

// chooseForScenes makes common what scenes need and what is rare.
func (s *Settings) chooseForScenes(r *rand.Rand) {
	s.DeadSeed = s.DeadSeed || chance(r, 2)
	if s.Replicas == 1 && !s.NoCluster && chance(r, 3) {
		s.Replicas = 2
	}
	if l, ok := s.Config.Pool.(pool.Laned); ok && l.Lanes > 1 && chance(r, 2) {
		l.Strategy = lanes.FirstFit
		s.Config.Pool, s.Strategy = l, "FirstFit"
	}
	if alone := chance(r, 5); alone && !s.Unset && !s.NoCluster && !s.Config.Standalone {
		s.withoutCluster(oneOf(r, 0, 1, 2))
		s.DeadSeed, s.Config.Dialer.Timeout = true, 0
	}
}

// chooseMore chooses what servers and the log of some worlds are like.
func (s *Settings) chooseMore(seed uint64) {
	r := source(seed, ofHabits, 0)
	many := scenic(seed) && chance(source(seed, ofScenes, 2), 8)
	s.Old = chance(r, 5)
	if few := chance(r, 10); !s.Unset && (few || many) {
		s.Stuck = 1 + time.Duration(r.Int64N(int64(length)))
		s.Terms.Closing = stuckLog
	}
	s.Terms.Logs = !s.Unset && s.Stuck == 0
}

// restFor returns how long a pool that nobody uses needs to be as small as it may be, and
// to find out by PINGs which of its connections are broken.
func restFor(o pool.Options) time.Duration {
	const usual = 10 * time.Second // of IdleTimeout, PingEvery and PauseTimeout
	rest := usual
	if o.PingEvery > 0 {
		rest = o.PingEvery
	}
	return max(usual, rest+max(usual, o.PauseTimeout)) + 3*time.Second
}

// leastConns returns the least size of a pool with these settings.
func leastConns(c pool.Config) int {
	switch c := c.(type) {
	case pool.Fixed:
		return c.Size
	case pool.Adaptive:
		return c.Min
	case pool.Laned:
		return c.Lanes
	}
	return 4
}

func chooseOptions(r *rand.Rand) (o pool.Options, stall time.Duration) {
	o = pool.Options{
		FailFast: chance(r, 10), MaxWaiters: oneOf(r, 0, 0, 0, 0, 20),
		StallTimeout: oneOf(r, 0, 0, time.Second, 2*time.Second),
		PauseTimeout: oneOf(r, 0, 0, 6*time.Second),
		PingEvery:    oneOf(r, 0, 0, -1, time.Second, 3*time.Second),
		MinBackoff:   oneOf(r, 0, 0, 50*time.Millisecond),
		MaxBackoff:   oneOf(r, 0, 0, 200*time.Millisecond),
		MaxAge:       oneOf(r, 0, 0, 0, 10*time.Second, time.Minute),
	}
	stall = o.StallTimeout
	if stall == 0 {
		stall = 3 * time.Second
	}
	return o, stall
}

// chooseSeldom is the other part of it.
func (s *Settings) chooseSeldom(seed uint64) {
	r := source(seed, ofSeldom, 1)
	if !scenic(seed) {
		return
	}
	l, laned := s.Config.Pool.(pool.Laned)
	if laned && l.PingEvery == time.Second {
		l.IdleTimeout = time.Second
		s.Config.Pool = l
	}
	if !laned && chance(r, 2) {
		s.Config.RetryWindow, s.Terms.Grace = -1, 0
	}
}

// seldomOptions returns what scenes need, and chance gives them seldom.
func seldomOptions(r *rand.Rand, o pool.Options) (_ pool.Options, stall time.Duration) {
	o.PingEvery, o.StallTimeout, o.MaxAge = oneOf(r, 0, time.Second, time.Second), 0, 0
	o.MaxBackoff = oneOf(r, 0, quickly)
	return o, 3 * time.Second
}

// choosePool returns the settings of a pool, the name of its strategy, and the
// most connections that one of its pools makes to a node.
func choosePool(r *rand.Rand, o pool.Options) (c pool.Config, strategy string, most int) {
	switch r.IntN(4) {
	case 0:
		size := oneOf(r, 1, 2, 4, 8)
		return pool.Fixed{Size: size, Options: o}, "", size
	case 1:
		least := oneOf(r, 1, 1, 2)
		most := least + r.IntN(10)
		return pool.Adaptive{Min: least, Max: most, IdleTimeout: oneOf(r, 0, time.Second), Options: o}, "", most
	}
	l := pool.Laned{
		Lanes: oneOf(r, 1, 1, 2, 4), MaxDedicated: oneOf(r, 2, 4, 8), IdleTimeout: oneOf(r, 0, 0, time.Second),
		MaxInFlight: oneOf(r, 0, 0, 1, 8, 64), MaxQueuedBytes: oneOf(r, 0, 0, 1<<10, 1<<16), Options: o,
	}
	l.MaxLanes = l.Lanes + oneOf(r, 0, 0, 2)
	if chance(r, 4) {
		l.NoSlowLanes = true
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
	return l, st.name, l.MaxLanes + max(l.SlowLanes, 2) + l.MaxDedicated
}

// makeRoom gives most worlds whose schedule is made of scenes lanes without bounds: elsewhere
// callers may wait for each other, so that there is less to be seen. Some have one that is
// replaced when it is old. It returns the options.
func (s *Settings) makeRoom(seed uint64, o pool.Options) pool.Options {
	r := source(seed, ofScenes, 1)
	if !scenic(seed) || chance(r, 3) {
		return o
	}
	l, ok := s.Config.Pool.(pool.Laned)
	if !ok {
		l = pool.Laned{Lanes: oneOf(r, 1, 2, 2), MaxLanes: 2, MaxDedicated: 4, Strategy: lanes.FirstFit, Options: o}
		s.Strategy = "FirstFit"
	}
	l.MaxInFlight, l.MaxQueuedBytes = 0, 0
	if chance(r, 3) {
		o.FailFast, o.MaxWaiters, o.MaxAge = true, 0, 10*time.Second
		l.Lanes, l.MaxLanes, l.Options = 1, 1, o
	}
	s.Config.Pool, s.Terms.MaxConns = l, l.MaxLanes+max(l.SlowLanes, 2)+l.MaxDedicated
	return o
}

func (s *Settings) chooseRest(r *rand.Rand) {
	s.Config.RefreshEvery = oneOf(r, 0, 0, 5*time.Second, -1)
	s.Config.RetryWindow = oneOf(r, 0, 0, 0, 300*time.Millisecond, 2*time.Second, -1, cluster.WhileContextLasts)
	s.Config.Slow = oneOf(r, nil, nil, []string{"SET"}, []string{"INCRBY", "expire"})
	s.Config.Fast = oneOf(r, nil, nil, []string{"EVAL", "EVALSHA"})
	s.Config.Dialer.Protocol = oneOf(r, 0, 2, 3)
	s.Config.Dialer.ClientName = oneOf(r, "", "limiter")
	s.Config.Dialer.Timeout = oneOf(r, 0, 0, time.Second)
	s.Config.Dialer.Limits = lanes.Limits{Depth: replyDepth, Attributes: replyAttributes}
	s.Config.Dialer.WriteTimeout = oneOf(r, 0, 0, time.Second)
	s.Config.TraceOneIn = oneOf(r, 0, 0, 2, 7)
	s.Config.Lazy = chance(r, 8)
	switch grace := s.Config.RetryWindow; {
	case grace == 0:
	case grace < 0:
		s.Terms.Grace = 0
	case grace == cluster.WhileContextLasts:
		s.Terms.Grace = -1
	default:
		s.Terms.Grace = grace
	}
}

func (s *Settings) String() string {
	p := s.Config.Pool
	if l, ok := p.(pool.Laned); ok {
		l.Strategy = nil
		p = l
	}
	return fmt.Sprintf("%d primaries, %d replicas each, latency %v, jitter %v, %d callers, deadlines kept %v, NetDial %v, password %v, one host %v, unnamed %v, NAT %v, no cluster %v, Sentinels %v, Standalone %v, proxy %v, names %+v, tokens %v\n"+
		"%T%+v %s\nDownGrace %v, RefreshEvery %v, Slow %v, Fast %v, Protocol %d, Timeout %v, WriteTimeout %v",
		s.Primaries, s.Replicas, s.Latency, s.Jitter, s.Callers, s.KeepsDeadlines, s.Dialing, s.Password, s.OneHost, s.Unnamed, s.NAT, s.NoCluster, s.Sentinels, s.Config.Standalone, s.Proxy, s.Names, s.Tokens,
		p, p, s.Strategy, s.Config.RetryWindow, s.Config.RefreshEvery, s.Config.Slow, s.Config.Fast,
		s.Config.Dialer.Protocol, s.Config.Dialer.Timeout, s.Config.Dialer.WriteTimeout)
}
