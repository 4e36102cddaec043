package redistest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Emulated is a cluster of miniredis nodes in this process, all of them primaries. They have a
// map of the slots, and reply MOVED and CROSSSLOT. They refuse SELECT of a database other than 0,
// MOVE and SWAPDB, and keys of other nodes in scripts. Keys do not expire by themselves. Nodes
// are numbered from 0. All methods are safe for concurrent use, and panic if there is no such node or
// slot.
type Emulated struct {
	nodes   []*miniredis.Miniredis
	servers []*server.Server
	addrs   []string                // of nodes; miniredis forgets them when it is closed
	peers   sync.Map                // *server.Peer of clients; not of scripts
	owners  [slotCount]atomic.Int32 // of the slots
	unknown any                     // the state of a client that has sent nothing; see ghost

	mu      sync.Mutex // guards what follows
	clients map[*server.Peer]client
	inject  []func(cmd string, args []string) string
	calls   []map[string]int
}

// StartEmulated starts an emulated cluster for the test and stops it at its
// end.
func StartEmulated(tb testing.TB, primaries int) *Emulated {
	tb.Helper()
	e, err := LaunchEmulated(primaries)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// LaunchEmulated starts an emulated cluster, which the caller must Close.
func LaunchEmulated(primaries int) (*Emulated, error) {
	if primaries < 1 {
		return nil, fmt.Errorf("redistest: primaries = %d: must be positive", primaries)
	}
	e := &Emulated{clients: make(map[*server.Peer]client), inject: make([]func(string, []string) string, primaries)}
	for slot := range e.owners {
		e.owners[slot].Store(int32(slot * primaries / slotCount))
	}
	for range primaries {
		m := miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			_ = e.Close()
			return nil, fmt.Errorf("redistest: miniredis: %w", err)
		}
		e.nodes = append(e.nodes, m)
		e.servers = append(e.servers, m.Server())
		e.addrs = append(e.addrs, m.Addr())
		e.calls = append(e.calls, make(map[string]int))
	}
	e.unknown = stateOfUnknown(e.servers[0])
	for i, s := range e.servers {
		s.SetPreHook(func(p *server.Peer, cmd string, args ...string) bool { return e.hook(i, p, cmd, args) })
	}
	return e, nil
}

// Close stops all nodes.
func (e *Emulated) Close() error {
	for _, m := range e.nodes {
		m.Close()
	}
	return nil
}

// Addrs returns the addresses of all nodes, host:port.
func (e *Emulated) Addrs() []string { return slices.Clone(e.addrs) }

// Nodes returns the miniredis nodes, to read and write keys and to set passwords. Do not restart them.
func (e *Emulated) Nodes() []*miniredis.Miniredis { return e.nodes }

// FastForward advances the time of all nodes by d. Keys expire only by it.
func (e *Emulated) FastForward(d time.Duration) {
	for _, m := range e.nodes {
		m.FastForward(d)
	}
}

// Inject replaces replies of the node. If reply returns a text for a command, that is the error reply,
// and the command does not run. A text that ends with \r\n is a whole reply in RESP, such as "$-1\r\n". Its cmd is in capitals, and its args are those behind
// it. It is not asked about CLUSTER, ASKING, READONLY, READWRITE and commands in scripts. It must
// not call methods of e. A nil reply ends it.
func (e *Emulated) Inject(node int, reply func(cmd string, args []string) string) {
	e.checkNode(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inject[node] = reply
}

// Calls returns how many commands of the name, in capitals, the node has received from clients. It
// counts commands in transactions, also those that are discarded. It does not count commands that
// the cluster or [Emulated.Inject] refused, commands in scripts, CLUSTER, ASKING, READONLY and
// READWRITE.
func (e *Emulated) Calls(node int, cmd string) int {
	e.checkNode(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[node][cmd]
}

func (e *Emulated) checkNode(node int) {
	if node < 0 || node >= len(e.nodes) {
		panic(fmt.Sprintf("redistest: node = %d: want 0 to %d", node, len(e.nodes)-1))
	}
}
