package sim

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// clusterKinds are what clusters do.
func clusterKinds() []kind {
	const gossips = 500 * time.Millisecond // until all nodes have heard of a change
	return []kind{
		{name: "migration", weight: 8, least: 100 * time.Millisecond, most: 6 * time.Second, begin: migration},
		{name: "graceful failover", weight: 5, least: 100 * time.Millisecond, most: 4800 * time.Millisecond, after: gossips, begin: gracefulFailover},
		{name: "forced failover", weight: 3, least: 10 * time.Millisecond, most: 10 * time.Millisecond, after: gossips, begin: failover(false)},
		{name: "lossy failover", weight: 3, least: 10 * time.Millisecond, most: 10 * time.Millisecond, after: gossips, begin: failover(true)},
		{name: "lost primary", mute: true, weight: 5, least: 2 * time.Second, most: 8 * time.Second, after: restarts + gossips, begin: lostPrimary},
		{name: "killed", weight: 4, least: 200 * time.Millisecond, most: 6 * time.Second, after: restarts, mute: true, begin: killed(model.Start{Down: restarts})},
		{name: "killed, loads", mute: true, weight: 3, least: 200 * time.Millisecond, most: 3 * time.Second, after: 2 * restarts, begin: killed(model.Start{Loading: 2 * restarts})},
		{name: "restart", mute: true, weight: 3, least: 10 * time.Millisecond, most: 10 * time.Millisecond, after: restarts, begin: killed(model.Start{Loading: restarts / 2})},
		{name: "data lost", weight: 1, least: 200 * time.Millisecond, most: 2 * time.Second, after: restarts, begin: killed(model.Start{Empty: true})},
		{name: "standalone", mute: true, weight: 3, least: 500 * time.Millisecond, most: 5 * time.Second, after: time.Second, begin: restartedAs(model.Start{Standalone: true})},
		{name: "stranger", mute: true, weight: 3, least: 500 * time.Millisecond, most: 5 * time.Second, after: time.Second, begin: restartedAs(model.Start{Stranger: true})},
		{name: "loading", weight: 5, least: 50 * time.Millisecond, most: 5 * time.Second, mute: true, begin: loading},
		{name: "cluster down", weight: 5, least: 50 * time.Millisecond, most: 5 * time.Second, mute: true, begin: switched((*model.Node).Down, 4)},
		{name: "busy", weight: 5, least: 50 * time.Millisecond, most: 4 * time.Second, mute: true, begin: switched((*model.Node).Busy, 1)},
		{name: "out of memory", weight: 2, least: 200 * time.Millisecond, most: 4 * time.Second, begin: switched((*model.Node).OOM, 2)},
		{name: "no replicas", weight: 4, least: 50 * time.Millisecond, most: 6 * time.Second, mute: true, begin: switched((*model.Node).NoReplicas, 2)},
		{name: "master down", weight: 2, least: 200 * time.Millisecond, most: 4 * time.Second, begin: masterDown},
		{name: "pause of writes", weight: 3, least: 200 * time.Millisecond, most: 5 * time.Second, begin: pause(false)},
		{name: "pause", weight: 2, least: 200 * time.Millisecond, most: 5 * time.Second, begin: pause(true)},
		{name: "deaf", weight: 2, least: time.Second, most: 8 * time.Second, after: gossips, begin: deaf},
		{name: "old map", weight: 4, least: time.Second, most: 20 * time.Second, misleads: 1, begin: wrongMap(true)},
		{name: "false map", weight: 3, least: time.Second, most: 20 * time.Second, misleads: 2, begin: wrongMap(false)},
		{name: "lag", weight: 2, least: time.Second, most: 8 * time.Second, begin: lag},
	}
}

// restarts is how long a node that starts believes that the cluster is down.
const restarts = time.Second

func (w *world) node(f Fault) *model.Node { return w.nodes[f.Node%len(w.nodes)] }

// primary and replica return the node of a shard that has that role in truth; nil:
// it has no replica, or none that could take its place.
func (w *world) primary(n *model.Node) *model.Node {
	if p := w.model.Primary(n); p != nil {
		return p
	}
	return n
}

func (w *world) replica(f Fault) *model.Node {
	p := w.primary(w.node(f))
	if w.settings.NoCluster && !w.settings.Sentinels {
		return nil // nobody would tell the client
	}
	for _, n := range w.nodes {
		if w.model.Primary(n) == p && n.Up() {
			return n
		}
	}
	return nil
}

func nothing() {}

// migration moves the slots of some of the keys, in two halves, or all at once as far as the servers can.
func migration(w *world, f Fault) func() {
	r := f.draws()
	if f.With%3 == 0 {
		var slots []uint16
		for i := range 1 + r.IntN(counterKeys) {
			slots = append(slots, model.Slot(fmt.Append(nil, "p:", i)))
		}
		_, finish := w.model.Move(slots, w.primary(w.nodes[r.IntN(w.settings.Primaries)]))
		return finish
	}
	var moving []uint16
	for range 1 + r.IntN(20) {
		slot := model.Slot([]byte(someKey(r, w.settings.Callers)))
		to := w.primary(w.nodes[r.IntN(w.settings.Primaries)])
		if w.model.Migrate(slot, to) {
			w.model.MoveKeys(slot, r.IntN(3))
			moving = append(moving, slot)
		}
	}
	return func() {
		for _, slot := range moving {
			if f.With%8 == 0 {
				w.model.AbortMigration(slot)
			} else {
				w.model.FinishMigration(slot)
			}
		}
	}
}

func gracefulFailover(w *world, f Fault) func() {
	if r := w.replica(f); r != nil {
		w.model.FailoverGracefully(r, f.For)
	}
	return nothing
}

func failover(lossy bool) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		if r := w.replica(f); r != nil {
			w.model.Failover(r, lossy)
		}
		return nothing
	}
}

// kill ends a node's process: what connects is refused.
func (w *world) kill(n *model.Node) {
	n.Kill()
	w.hosts[n.Index()].Load().Kill()
}

func (w *world) restart(n *model.Node, how model.Start) {
	n.Restart(how)
	w.listen(n)
}

// lostPrimary dies, and its replica, if it has one, takes over after a while. It
// comes back as a replica.
func lostPrimary(w *world, f Fault) func() {
	p, r := w.primary(w.node(f)), w.replica(f)
	w.kill(p)
	takeOver := time.AfterFunc(f.For/2, func() {
		if r != nil {
			w.model.Failover(r, f.With%2 == 0)
		}
	})
	return func() {
		takeOver.Stop()
		w.restart(p, model.Start{Down: restarts})
	}
}

func killed(how model.Start) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		n := w.node(f)
		w.kill(n)
		return func() { w.restart(n, how) }
	}
}

// restartedAs starts a node as another kind of server, at the same address.
func restartedAs(how model.Start) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		n := w.node(f)
		if w.settings.NoCluster || how.Stranger && len(w.nodesAt(w.reached(n))) == len(w.nodes) {
			return nothing // nobody could tell it from the one that was there, made anew
		}
		w.kill(n)
		w.restart(n, how)
		return func() {
			w.kill(n)
			w.restart(n, model.Start{})
		}
	}
}

func loading(w *world, f Fault) func() {
	w.node(f).Loading(f.For)
	return nothing
}

// switched is a fault of a node, or in one case of so many of all nodes, that is
// switched on and off.
func switched(turn func(n *model.Node, on bool), all uint64) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		nodes := []*model.Node{w.node(f)}
		if all > 1 && f.With%all == 0 {
			nodes = w.nodes
		}
		for _, n := range nodes {
			turn(n, true)
		}
		return func() {
			for _, n := range nodes {
				turn(n, false)
			}
		}
	}
}

func masterDown(w *world, f Fault) func() {
	if r := w.replica(f); r != nil {
		r.MasterDown(true)
		return func() { r.MasterDown(false) }
	}
	return nothing
}

func pause(all bool) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		n := w.primary(w.node(f))
		n.Pause(f.For, all)
		return n.Unpause
	}
}

// wrongMap makes a node tell a map that is partial or wrong. That of a node which was away
// for long is outdated; otherwise it cannot be told from one that is newer than others.
func wrongMap(outdated bool) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		n := w.node(f)
		if len(w.nodesAt(w.reached(n))) == len(w.nodes) {
			return nothing // nobody could contradict it
		}
		self, other := n.Index(), int(f.With>>8)%w.settings.Primaries
		n.Mislead(func(slot uint16, owner int) int {
			switch what := f.With % 4; {
			case what == 0, outdated && owner == self: // by which it serves
				return self
			case what == 1, what == 2 && slot < 8192:
				return -1
			case what == 3 && slot%2 == 0:
				return other
			}
			return owner
		}, outdated)
		return func() { n.Mislead(nil, false) }
	}
}

// lag makes replicas and gossip late, and links to replicas slow.
func lag(w *world, f Fault) func() {
	w.model.ReplicationLag(time.Duration(f.With % uint64(2*time.Second)))
	w.model.GossipLag(time.Duration(f.With % uint64(time.Second)))
	return func() {
		w.model.ReplicationLag(usualLag)
		w.model.GossipLag(usualGossip)
	}
}

// usualLag and usualGossip are how late replicas and nodes are in a healthy world.
const (
	usualLag    = 2 * time.Millisecond
	usualGossip = 100 * time.Millisecond
)
