package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Replay makes the faults of a list at their times, and returns when the last one has ended. Faults of
// one node or host that overlap end together. An error says which fault the cluster cannot make; then it has made none.
func (c *Cluster) Replay(faults []Fault) error {
	for i, f := range faults {
		if problem := c.problem(f); problem != "" {
			return fmt.Errorf("sim: fault %d, %v %s", i, f, problem)
		}
	}
	c.play(slices.Clone(faults))
	return nil
}

// longest bounds the times of a fault, so that sums do not overflow.
const longest = 24 * time.Hour

// problem says why the cluster cannot make the fault, or is empty.
func (c *Cluster) problem(f Fault) string {
	k := kindOf(f.Kind)
	switch {
	case k == nil:
		return "has no kind of fault: there are " + kindNames()
	case min(f.At, f.For, f.By) < 0 || max(f.At, f.For, f.By) > longest:
		return fmt.Sprint("has a time that is not 0 to ", longest)
	case f.N < 0:
		return "has an N below 0"
	case k.ofHost() && f.Host == "":
		return "names no host"
	case !(k.ofHost() && f.Node == "") && c.node(f.Node) == nil:
		return "names no node of the cluster: there are " + strings.Join(c.Addrs(), ", ")
	case k.name == "Refuse" && (f.Text == "" || strings.ContainsAny(f.Text, "\r\n")):
		return "must have one line of text"
	}
	return ""
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

func kindOf(name string) *kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return &kinds[i]
	}
	return nil
}

func (c *Cluster) node(addr string) *Node {
	if i := slices.IndexFunc(c.nodes, func(n *Node) bool { return n.Addr() == addr }); i >= 0 {
		return c.nodes[i]
	}
	return nil
}

// play makes the faults, and notes what comes of them.
func (c *Cluster) play(faults []Fault) {
	type event struct {
		at  time.Duration
		run func()
	}
	var events []event
	ends := make(map[string]time.Duration) // of nodes and hosts
	for i := range faults {
		f := &faults[i]
		t := &target{Fault: f, c: c, node: c.node(f.Node)}
		place, heal := f.Node, func() { t.node.Heal() }
		if kindOf(f.Kind).ofHost() {
			t.host = c.Host(f.Host)
			place, heal = f.Host, t.host.Heal
			if t.node != nil {
				t.nodes = []*Node{t.node}
			}
		}
		end := f.At + f.For
		events = append(events, event{f.At, func() {
			ends[place] = max(ends[place], end)
			at := time.Now()
			kindOf(f.Kind).begin(t)
			c.mu.Lock()
			c.made = append(c.made, made{at, *f})
			c.mu.Unlock()
		}})
		if f.For > 0 {
			events = append(events, event{end, func() {
				if ends[place] == end {
					heal()
				}
			}})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for began, i := time.Now(), 0; i < len(events); i++ {
		time.Sleep(time.Until(began.Add(events[i].at)))
		events[i].run()
	}
}

// Shorten leaves out faults, of any type, as long as fails reports that the rest still fails, and returns a list from which no fault can
// be left out. It is empty if fails reports true for no faults. If a world does not fail in each run, let fails run it several times.
func Shorten[F any](faults []F, fails func([]F) bool) []F {
	if fails(nil) {
		return nil
	}
	for size := max(1, len(faults)/2); ; size = max(1, size/2) {
		shorter := false
		for i := 0; i < len(faults); {
			rest := slices.Delete(slices.Clone(faults), i, min(i+size, len(faults)))
			if fails(rest) {
				faults, shorter = rest, true
			} else {
				i += size
			}
		}
		if size == 1 && !shorter {
			return faults
		}
	}
}
