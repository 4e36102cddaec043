package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Trouble makes random faults for so long, one or two at a time, and returns them when all
// are healed. The seed, the number of earlier calls and the names of hosts decide the faults. They are of all
// kinds that [Fault] has.
func (c *Cluster) Trouble(d time.Duration) []Fault {
	began := time.Now()
	faults := c.plan(rand.New(rand.NewPCG(c.config.Seed, 1+c.troubles.Add(1))), d)
	c.play(faults)
	time.Sleep(time.Until(began.Add(d)))
	return faults
}

// Plan returns random faults for so long, of the kinds that Trouble makes, for [Cluster.Replay]. The seed and the names of hosts
// decide them.
func (c *Cluster) Plan(seed uint64, d time.Duration) []Fault {
	return c.plan(rand.New(rand.NewPCG(seed, 0)), d)
}

// plan returns episodes of one or two faults, with time to heal between them. Times are whole milliseconds.
func (c *Cluster) plan(r *rand.Rand, d time.Duration) (faults []Fault) {
	c.mu.Lock()
	hosts := slices.Sorted(maps.Keys(c.hosts))
	c.mu.Unlock()
	tickets := c.config.tickets(len(hosts) > 0)
	if len(hosts) == 0 {
		hosts = []string{us}
	}
	upTo := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	for at := time.Duration(0); at < d; at += upTo(1000) {
		first := len(faults)
		for n := 1 + r.IntN(2); n > 0 && at < d; n-- {
			faults = append(faults, c.draw(r, at, tickets, hosts))
			at += upTo(100)
		}
		at = min(at+upTo(2000), d)
		for i := first; i < len(faults); i++ {
			if f := &faults[i]; kindOf(f.Kind).lasts {
				f.For = at - f.At
			}
		}
	}
	return faults
}

// draw chooses a kind, what it acts on, and its arguments.
func (c *Cluster) draw(r *rand.Rand, at time.Duration, tickets []kind, hosts []string) Fault {
	k := tickets[r.IntN(len(tickets))]
	f := Fault{At: at, Kind: k.name, Node: c.nodes[r.IntN(len(c.nodes))].Addr()}
	if k.ofHost() {
		f.Host = hosts[r.IntN(len(hosts))]
	}
	if k.name == "Host.Freeze" {
		f.Node = ""
	}
	if k.draw != nil {
		k.draw(&f, r)
	}
	return f
}

// tickets has each kind as often as its weight says. Kinds of hosts are there if the test has named hosts, or the kind.
func (c Config) tickets(hosts bool) (all []kind) {
	for _, k := range kinds {
		if weight, ok := c.Weights["*"]; ok {
			k.weight = weight
		}
		weight, named := c.Weights[k.name]
		if named {
			k.weight = weight
		}
		if hosts || named || !k.ofHost() {
			all = append(all, slices.Repeat([]kind{k}, k.weight)...)
		}
	}
	return all
}
