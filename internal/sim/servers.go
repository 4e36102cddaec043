package sim

import (
	"math/rand/v2"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// In some worlds there is one primary without cluster mode, with Sentinels or without.

var sentinelAddrs = []string{inside + "101:26379", inside + "102:26379", inside + "103:26379"}

// chooseServers chooses what there is in place of a cluster that tells of itself.
func (s *Settings) chooseServers(r *rand.Rand) {
	switch {
	case s.Unset:
	case chance(r, 10):
		s.withoutCluster(oneOf(r, 1, 1, 2))
		s.Sentinels = true
	case chance(r, 8):
		s.withoutCluster(oneOf(r, 0, 1, 2))
	}
}

// withoutCluster makes servers of one primary without cluster mode.
func (s *Settings) withoutCluster(replicas int) {
	s.NoCluster, s.Unnamed, s.Primaries, s.Replicas = true, false, 1, replicas
	s.Terms.Primaries = 1
	if s.Config.RetryWindow != cluster.WhileContextLasts { // a demoted server names no other one: it takes a second try
		s.Config.RetryWindow = 0
	}
}

// listenSentinels starts them.
func (w *world) listenSentinels() {
	for i, addr := range w.reachedSentinels() {
		w.net.Listen(addr, w.model.Serve(w.model.Sentinels()[i]))
	}
}

// reachedSentinels returns the addresses at which the client reaches them.
func (w *world) reachedSentinels() (addrs []string) {
	for _, s := range w.model.Sentinels() {
		addr := s.Addr()
		if w.settings.NAT {
			addr = translated(addr)
		}
		addrs = append(addrs, addr)
	}
	return addrs
}

// useSentinels makes the client ask them.
func (w *world) useSentinels(c *cluster.Config) {
	if w.settings.Sentinels {
		c.Sentinel, c.SentinelDialer = model.SentinelPrimary, lanes.Dialer{NetDial: c.Dialer.NetDial, Timeout: c.Dialer.Timeout}
	}
}

// deaf makes a node hear of no change or, where there are Sentinels, one of them or two,
// which may also be away.
func deaf(w *world, f Fault) func() {
	all := w.model.Sentinels()
	if len(all) == 0 {
		return switched((*model.Node).Deaf, 1)(w, f)
	}
	var ends []func()
	away := oneOf(f.draws(), simnet.Conditions{}, simnet.Conditions{Refuse: true}, simnet.Conditions{Blackhole: true}, simnet.Conditions{Partition: simnet.Both},
		simnet.Conditions{Stall: simnet.Both})
	for i := range 1 + f.With>>8%2 {
		at := (f.With + i) % uint64(len(all))
		all[at].Deaf(true)
		ends = append(ends, func() { all[at].Deaf(false) }, w.net.Impose(us, w.reachedSentinels()[at], away))
	}
	return inTurn(ends)
}
