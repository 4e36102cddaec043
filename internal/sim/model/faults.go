package model

import (
	"slices"
	"time"
)

// faults are what is wrong with a node, and its settings.
type faults struct {
	dead         bool
	loadingUntil time.Time
	downUntil    time.Time // it believes that the cluster is down
	down         bool
	oom          bool
	noReplicas   bool
	refusings    map[string]*refusing // by the command's name
	busy         bool
	username     string
	password     string
	masterDown   bool
	deaf         bool
	cutOff       bool
	interposed   Interposer
	told         func(slot uint16, owner int) int
	outdated     bool      // what it tells
	standalone   bool      // a server without cluster mode
	stranger     bool      // a node of another cluster
	was          *topology // what a stranger went by as a member; nil: it is none
	alias        string
	own          map[string]*entry // what it had as a member
	pause        struct {
		until   time.Time
		all     bool
		changed chan struct{}
	}
}

func (n *Node) up() bool { return !n.dead }

// member reports whether the node runs, as one of its cluster.
func (n *Node) member() bool { return !n.dead && n.own == nil }

// Up reports whether the node runs.
func (n *Node) Up() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.up()
}

func (n *Node) isDown(now time.Time) bool { return n.down || now.Before(n.downUntil) }

// lock makes a change of the node under the lock, when all nodes are what they are
// by now: replicas have what they were sent before.
func (n *Node) lock(f func(now time.Time)) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	now := time.Now()
	n.c.settleAll(now)
	f(now)
}

// Kill ends the process: its connections are closed, and new ones are at once.
func (n *Node) Kill() {
	n.lock(func(time.Time) {
		n.dead = true
		n.hangUpAll()
	})
}

func (n *Node) hangUpAll() {
	for _, s := range slices.Clone(n.sessions) { // which end takes off
		hangUp := s.close
		s.end()
		if hangUp != nil {
			hangUp()
		}
	}
	for _, p := range n.blocked {
		close(p.wake)
	}
	n.blocked = nil
}

// A Start is how a node starts again.
type Start struct {
	Empty      bool          // without its keys
	Loading    time.Duration // for how long it is LOADING
	Down       time.Duration // for how long it believes that the cluster is down; 2 s is usual
	Standalone bool          // without cluster mode, until the next start
	Stranger   bool          // as a primary of all slots of another cluster, until the next start
	Epoch      uint64        // of that cluster, besides 1
}

// Restart ends the process, if it runs, and starts it again.
func (n *Node) Restart(how Start) {
	n.lock(func(now time.Time) {
		n.hangUpAll()
		if foreign := how.Standalone || how.Stranger; foreign != (n.own != nil) {
			if foreign {
				n.c.forgetMigrations(n)
				n.own, n.keys = n.keys, make(map[string]*entry)
			} else {
				n.own, n.keys = nil, n.own
			}
		}
		n.dead, n.standalone, n.stranger = false, how.Standalone || n.c.opts.NoCluster, how.Stranger
		n.loadingUntil, n.downUntil = now.Add(how.Loading), now.Add(max(how.Down, how.Loading))
		n.pause.until, n.alias, n.inSync = time.Time{}, "", false
		clear(n.scripts)
		if how.Empty && n.own == nil {
			n.empty()
		}
		switch {
		case how.Standalone:
			n.source = nil
		case how.Stranger:
			n.alias, n.source = n.c.newID(), nil
			if n.was == nil {
				n.was = n.view
			}
			n.view = alone(n.index, len(n.c.nodes), how.Epoch)
			n.learning = nil
		default:
			n.rejoin(now)
		}
	})
}

// empty forgets all keys, which are lost if no other node is the primary.
func (n *Node) empty() {
	if n.source == nil {
		for key := range n.keys {
			n.c.lost[key] = time.Now()
		}
	}
	clear(n.keys)
	n.recordClear()
}

// rejoin makes the node a member as it was, which hears of the truth.
func (n *Node) rejoin(now time.Time) {
	if n.was != nil {
		n.view, n.was = n.was, nil
	}
	if p := n.view.primary[n.index]; p >= 0 {
		n.source = n.c.nodes[p]
	}
	if n.c.truth.failed[n.index] {
		n.c.change(now, func(t *topology) { t.failed[n.index] = false })
	}
	if n.view != n.c.truth {
		n.learning = append(n.learning, lesson{now.Add(n.c.gossip), n.c.truth})
	}
	n.settle(now)
}

// alone is the topology of a cluster of one node.
func alone(node, nodes int, epoch uint64) *topology {
	t := firstTopology(1, nodes, epoch)
	for slot := range t.owner {
		t.owner[slot] = int16(node)
	}
	t.absent = make([]bool, nodes)
	for i := range nodes {
		t.primary[i], t.absent[i] = -1, i != node
	}
	return t
}

// Loading makes the node refuse commands for a while.
func (n *Node) Loading(d time.Duration) { n.lock(func(now time.Time) { n.loadingUntil = now.Add(d) }) }

// Down makes the node believe that the cluster is down, as in a minority.
func (n *Node) Down(yes bool) { n.lock(func(time.Time) { n.down = yes }) }

// OOM makes the node refuse writes that need memory.
func (n *Node) OOM(yes bool) { n.lock(func(time.Time) { n.oom = yes }) }

// NoReplicas makes the node refuse writes because it has too few replicas.
func (n *Node) NoReplicas(yes bool) { n.lock(func(time.Time) { n.noReplicas = yes }) }

// RequirePass sets the password, of the user too if there is one; none if it is
// empty. Connections stay authenticated unless they are to be again.
func (n *Node) RequirePass(username, password string, again bool) {
	n.lock(func(time.Time) {
		n.username, n.password = username, password
		for _, s := range n.sessions {
			s.authed = s.authed && !again || password == ""
		}
	})
}

// MasterDown cuts a replica's link to its primary: it applies nothing, and
// refuses reads.
func (n *Node) MasterDown(yes bool) { n.lock(func(time.Time) { n.masterDown = yes }) }

// Deaf makes the node hear of no changes, so that its view grows old.
func (n *Node) Deaf(yes bool) { n.lock(func(time.Time) { n.deaf = yes }) }

// CutOff cuts the node off from all other nodes. It sends nothing to its replicas, gets nothing from its
// primary, and hears of no changes. It hears of them a gossip lag after the end.
func (n *Node) CutOff(yes bool) {
	n.lock(func(now time.Time) {
		if n.cutOff && !yes {
			for i := range n.learning {
				if heard := now.Add(n.c.gossip); n.learning[i].at.Before(heard) {
					n.learning[i].at = heard
				}
			}
			n.c.settleLater()
		}
		n.cutOff = yes
	})
}

// IsCutOff tells whether CutOff holds.
func (n *Node) IsCutOff() (yes bool) {
	n.lock(func(time.Time) { yes = n.cutOff })
	return yes
}

// Mislead makes the node tell another map than it goes by: the function says for
// each slot which node, by its index, it tells for an owner, -1 for none. A nil
// function ends it. An outdated map has config epochs that are over: 1 for all.
func (n *Node) Mislead(tell func(slot uint16, owner int) int, outdated bool) {
	n.lock(func(time.Time) { n.told, n.outdated = tell, outdated })
}

// Pause is CLIENT PAUSE: of all commands, or of writes.
func (n *Node) Pause(d time.Duration, all bool) {
	n.lock(func(now time.Time) { n.pauseLocked(now.Add(d), all) })
}

// Unpause ends a pause.
func (n *Node) Unpause() { n.lock(func(time.Time) { n.unpause() }) }

func (n *Node) pauseLocked(until time.Time, all bool) {
	if until.After(n.pause.until) {
		n.pause.until = until
	}
	n.pause.all = all
}

func (n *Node) unpause() {
	n.pause.until = time.Time{}
	close(n.pause.changed)
	n.pause.changed = make(chan struct{})
}

// pausedFor reports whether a pause holds the command up.
func (n *Node) pausedFor(s *Session, cmd *command, now time.Time) bool {
	if !now.Before(n.pause.until) {
		return false
	}
	return n.pause.all || cmd.write || mayWrite[cmd.name] || cmd.name == "exec" && s.queues("write")
}

// mayWrite are the commands that a pause of writes holds up, too.
var mayWrite = map[string]bool{"eval": true, "evalsha": true, "publish": true}

// postpone parks a command until the pause's end.
func (n *Node) postpone(s *Session, args [][]byte) *parked {
	return &parked{s: s, args: args, until: n.pause.until, wake: n.pause.changed}
}
