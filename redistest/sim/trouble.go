package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A Fault is one that [Cluster.Trouble] has made.
type Fault struct {
	At   time.Duration // since the cluster's start
	Node string        // its address
	What string
}

func (f Fault) String() string {
	return fmt.Sprintf("%.3fs %s: %s", f.At.Seconds(), f.Node, f.What)
}

// Trouble makes random faults for about so long, one or two at a time, and returns them when all
// are healed. The seed and the number of earlier calls decide the faults. They are
// failovers with and without lost writes, kills, freezes, partitions, delays, cuts at any byte,
// refusals and moved slots.
func (c *Cluster) Trouble(d time.Duration) (faults []Fault) {
	r := rand.New(rand.NewPCG(c.config.Seed, 1+c.troubles.Add(1)))
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		for range 1 + r.IntN(2) {
			n := c.nodes[r.IntN(len(c.nodes))]
			what := troubles[r.IntN(len(troubles))](c, n, r)
			faults = append(faults, Fault{At: time.Since(c.began), Node: n.Addr(), What: what})
			sleep(r, 100*time.Millisecond, end)
		}
		sleep(r, 2*time.Second, end)
		c.Heal()
		sleep(r, time.Second, end)
	}
	return faults
}

// sleep sleeps for a random time below most, and not beyond the end.
func sleep(r *rand.Rand, most time.Duration, end time.Time) {
	time.Sleep(min(time.Duration(r.Int64N(int64(most))), time.Until(end)))
}

// troubles are the faults of Trouble. Each says what it did.
var troubles = []func(c *Cluster, n *Node, r *rand.Rand) string{
	func(_ *Cluster, n *Node, _ *rand.Rand) string { n.Kill(); return "killed" },
	func(_ *Cluster, n *Node, _ *rand.Rand) string {
		n.Kill()
		if n.Failover() == nil {
			return "killed"
		}
		return "killed, its replica takes over"
	},
	func(_ *Cluster, n *Node, _ *rand.Rand) string { return failsOver(n.Failover(), "failover") },
	func(_ *Cluster, n *Node, _ *rand.Rand) string {
		return failsOver(n.FailoverLossy(), "failover that loses writes")
	},
	func(_ *Cluster, n *Node, _ *rand.Rand) string { n.Freeze(); return "frozen" },
	func(_ *Cluster, n *Node, _ *rand.Rand) string { n.Isolate(); return "isolated" },
	func(_ *Cluster, n *Node, r *rand.Rand) string {
		by := time.Duration(r.Int64N(int64(300 * time.Millisecond)))
		n.Delay(by)
		return fmt.Sprintf("delayed by %v", by.Round(time.Millisecond))
	},
	func(_ *Cluster, n *Node, r *rand.Rand) string {
		by := time.Duration(r.Int64N(int64(2 * time.Second)))
		n.DelayOne(by)
		return fmt.Sprintf("one connection delayed by %v", by.Round(time.Millisecond))
	},
	func(_ *Cluster, n *Node, r *rand.Rand) string {
		after := 1 + r.IntN(200)
		n.CutReplies(after)
		return fmt.Sprintf("replies cut after %d bytes", after)
	},
	func(_ *Cluster, n *Node, _ *rand.Rand) string { n.Cut(); return "connections reset" },
	func(_ *Cluster, n *Node, _ *rand.Rand) string {
		n.CutSilently()
		return "connections lost silently"
	},
	func(_ *Cluster, n *Node, r *rand.Rand) string {
		text := refusals[r.IntN(len(refusals))]
		n.Refuse("*", text, 1+r.IntN(20))
		return "refuses: " + text
	},
	func(c *Cluster, n *Node, r *rand.Rand) string {
		for range 100 {
			c.Move(fmt.Sprint(r.Uint32()), n)
		}
		switch {
		case n.Replica():
			return "slots move here: none, it is a replica"
		case n.model.IsCutOff():
			return "slots move here: none, nothing reaches it"
		}
		return "slots move here"
	},
}

func failsOver(to *Node, what string) string {
	if to == nil {
		return what + ": none, no replica is up"
	}
	return what + " to " + to.Addr()
}

// refusals are errors that end by themselves.
var refusals = []string{
	"LOADING Redis is loading the dataset in memory",
	"CLUSTERDOWN The cluster is down",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"NOREPLICAS Not enough good replicas to write.",
}
