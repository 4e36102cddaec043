package simnet

import "time"

// A Way is a direction of a connection, or both.
type Way uint8

// The directions, seen from the dialling side.
const (
	ToServer Way = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Conditions are what the network does to connections. The zero value does
// nothing. Where several are imposed at a time, times add up, the smaller one of
// two limits counts, and all faults act.
type Conditions struct {
	// Latency is how long bytes travel, in each direction; a dial takes two. A
	// random time below Jitter comes on top of it, without changing their order.
	Latency, Jitter time.Duration

	// Bandwidth is in bytes per second, for each direction of each connection; 0 for no
	// limit. When it is lifted, what waits for it arrives.
	Bandwidth int

	// Stall holds up bytes, and ends of connections, as a server does that was
	// stopped: dials succeed. What was held up arrives when the stall is over.
	Stall Way

	// Partition is Stall, and dials get no answer.
	Partition Way

	// Refuse refuses dials, SlowDial delays them, and Blackhole leaves them
	// without an answer, of which existing connections notice nothing.
	Refuse    bool
	SlowDial  time.Duration
	Blackhole bool

	// CutToServer and CutToClient reset a connection, on both sides, when so
	// many more bytes have arrived in that direction; 0 for never.
	CutToServer, CutToClient int

	// HangUpAfter closes the server's end of a connection after a time, counted from when
	// it was accepted, or for open ones from when the conditions were imposed; 0 for never.
	HangUpAfter time.Duration
}

// and returns both at a time.
func (c Conditions) and(d Conditions) Conditions {
	return Conditions{
		Latency:     c.Latency + d.Latency,
		Jitter:      c.Jitter + d.Jitter,
		Bandwidth:   smaller(c.Bandwidth, d.Bandwidth),
		Stall:       c.Stall | d.Stall,
		Partition:   c.Partition | d.Partition,
		Refuse:      c.Refuse || d.Refuse,
		SlowDial:    c.SlowDial + d.SlowDial,
		Blackhole:   c.Blackhole || d.Blackhole,
		CutToServer: smaller(c.CutToServer, d.CutToServer),
		CutToClient: smaller(c.CutToClient, d.CutToClient),
		HangUpAfter: smaller(c.HangUpAfter, d.HangUpAfter),
	}
}

// smaller returns the smaller limit, of which 0 is none.
func smaller[T int | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// silent reports whether dials get no answer.
func (c Conditions) silent() bool { return c.Blackhole || c.Partition != 0 }

// holds reports whether bytes of that direction are held up.
func (c Conditions) holds(w Way) bool { return (c.Stall|c.Partition)&w != 0 }

// An imposition is conditions for some connections.
type imposition struct {
	from, addr string // empty: any
	Conditions
}

func (i *imposition) concerns(from, addr string) bool {
	return (i.from == "" || i.from == from) && (i.addr == "" || i.addr == addr)
}

// Impose imposes conditions on the connections and dials from a dialler to an
// address; an empty string stands for all of them. The result lifts them, once.
func (n *Network) Impose(from, addr string, c Conditions) (lift func()) {
	i := &imposition{from, addr, c}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.imposed = append(n.imposed, i)
	n.applyLocked(i, c)
	return func() { n.lift(i) }
}

func (n *Network) lift(i *imposition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for at, other := range n.imposed {
		if other == i {
			n.imposed = append(n.imposed[:at:at], n.imposed[at+1:]...)
			n.applyLocked(i, Conditions{})
			return
		}
	}
}

// applyLocked tells the connections that i concerns; fresh is what was added.
func (n *Network) applyLocked(i *imposition, fresh Conditions) {
	for _, w := range n.wires {
		if i.concerns(w.from, w.addr) {
			w.apply(n.conditionsLocked(w.from, w.addr), fresh)
		}
	}
}

func (n *Network) conditionsLocked(from, addr string) Conditions {
	var c Conditions
	for _, i := range n.imposed {
		if i.concerns(from, addr) {
			c = c.and(i.Conditions)
		}
	}
	return c
}
