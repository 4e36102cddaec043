package sim

import (
	"strings"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// A Node is one server. Its faults last until [Node.Heal]. Those of the network add up.
type Node struct {
	c     *Cluster
	model *model.Node
	lifts lifts

	mu   sync.Mutex // guards host
	host *simnet.Host
}

// Addr returns the node's address.
func (n *Node) Addr() string { return n.model.Addr() }

// Replica reports whether the node is a replica, in truth: others may not have heard of a
// change.
func (n *Node) Replica() bool { return n.c.model.Primary(n.model) != nil }

// Kill ends the process. Its connections are closed and new ones refused. Its data is there
// again when it is healed. No replica takes over by itself: call Failover.
func (n *Node) Kill() {
	n.model.Kill()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host.Kill()
}

// listen accepts connections.
func (n *Node) listen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = n.c.net.Listen(n.Addr(), n.c.model.Serve(n.model))
}

// Failover makes a replica of the primary take over, and returns it; nil: no replica is up and
// reached by other nodes.
// The old primary, if it runs, goes on as one until it hears of the change, after the gossip
// lag. No write is lost unless the old primary takes some meanwhile.
func (n *Node) Failover() *Node { return n.failover(false) }

// FailoverLossy is Failover in which the replica has not applied what it was sent within the
// replication lag. Those writes are lost, acknowledged or not.
func (n *Node) FailoverLossy() *Node { return n.failover(true) }

func (n *Node) failover(lossy bool) *Node {
	for _, r := range n.c.model.Nodes() {
		if n.c.model.Primary(r) == n.model && r.Up() && !r.IsCutOff() && n.c.model.Failover(r, lossy) {
			return n.c.of(r)
		}
	}
	return nil
}

// Freeze stops the process, as SIGSTOP does. Connections stay open, dials succeed, and nothing
// is answered. Commands that were sent run when the node is healed.
//
// A replica falls behind meanwhile. If its replica has taken over, a primary does not know that yet
// when it is healed: it runs these commands, and their writes are lost. It hears of the failover a
// gossip lag later.
func (n *Node) Freeze() { n.cutOff(simnet.Conditions{Stall: simnet.Both}) }

// Isolate drops all packets from and to the node, also those of other nodes. Nothing is answered,
// also no dial. A replica falls behind, and the node hears of failovers as after [Node.Freeze].
func (n *Node) Isolate() { n.cutOff(simnet.Conditions{Partition: simnet.Both}) }

func (n *Node) cutOff(conditions simnet.Conditions) {
	n.impose(conditions)
	n.model.CutOff(true)
}

// RefuseDials refuses new connections. Open ones work.
func (n *Node) RefuseDials() { n.impose(simnet.Conditions{Refuse: true}) }

// Delay makes all bytes travel longer, in each direction.
func (n *Node) Delay(by time.Duration) { n.impose(simnet.Conditions{Latency: by}) }

// DelayOne makes replies travel longer on one open connection, that which was used last, while all others are
// well: as on a bad path, or through a balancer with one slow worker.
func (n *Node) DelayOne(by time.Duration) { n.lifts.add(n.c.net.SlowUsed("", n.Addr(), by)) }

// CutReplies resets each connection, open or new, when so many more bytes of replies have
// arrived: commands run, and their replies are lost.
func (n *Node) CutReplies(after int) { n.impose(simnet.Conditions{CutToClient: max(after, 1)}) }

// Cut resets all open connections. Bytes on their way are lost. New connections work.
func (n *Node) Cut() { n.c.net.Cut("", n.Addr(), 1) }

// CutSilently loses all open connections without a reset. The program does not notice, and waits
// for replies, as behind a NAT or firewall that has forgotten the connections.
func (n *Node) CutSilently() { n.c.net.Vanish("", n.Addr(), 1) }

// Refuse makes the node reply with an error in place of running a command, for example
//
//	node.Refuse("incrby", "OOM command not allowed when used memory > 'maxmemory'.", 0)
//
// Texts of Redis are in the words of Config.Server. A subcommand has its command and a bar in front of it, as in "client|setname"; "*" stands
// for all commands with keys. times is how many commands are refused; 0 means all until the node is
// healed.
func (n *Node) Refuse(command, text string, times int) {
	command = strings.ToLower(command)
	n.model.Refuse(command, model.Refusal(text), times)
	n.lifts.add(func() { n.model.Refuse(command, "", 0) })
}

// PauseWrites holds up writes for so long, as CLIENT PAUSE WRITE does.
func (n *Node) PauseWrites(d time.Duration) { n.model.Pause(d, false) }

func (n *Node) impose(conditions simnet.Conditions) {
	n.lifts.add(n.c.net.Impose("", n.Addr(), conditions))
}

// writableDelay is how long a primary refuses commands when it has started.
const writableDelay = 2 * time.Second

// Heal ends the node's faults, and starts it if it was killed. In a cluster, a primary that has
// started replies CLUSTERDOWN for 2 s, or until it hears that it is none any more. Connections
// that were cut stay cut. If the program does not know that yet, they are reset.
func (n *Node) Heal() {
	n.lifts.lift()
	n.model.Unpause()
	n.model.CutOff(false)
	n.c.net.Forget("", n.Addr())
	if !n.model.Up() {
		down := writableDelay
		if n.Replica() {
			down = min(down, n.c.config.GossipLag)
		}
		n.model.Restart(model.Start{Down: down})
		n.listen()
	}
}
