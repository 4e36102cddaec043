package redistest

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// Emulated is a cluster of miniredis nodes in this process, all of them primaries. They have a
// map of the slots, and reply MOVED, ASK and CROSSSLOT. Keys do not expire by themselves. Nodes
// are numbered from 0. All methods are safe for concurrent use, and panic if there is no such node or
// slot.
type Emulated struct {
	nodes []*miniredis.Miniredis
	addrs []string // of nodes; miniredis forgets them when it is closed
	peers sync.Map // *server.Peer of clients; not of scripts

	restarts sync.Mutex // held while nodes are stopped and started; guards doors
	doors    []*door    // of nodes that were started again

	mu        sync.Mutex // guards what follows
	servers   []*server.Server
	owner     [slotCount]int
	importing map[uint16]int // slots on their way, and where to
	clients   map[*server.Peer]client
	inject    []func(cmd string, args []string) string
	calls     []map[string]int
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
	e := &Emulated{
		importing: make(map[uint16]int), clients: make(map[*server.Peer]client),
		inject:  make([]func(string, []string) string, primaries),
		servers: make([]*server.Server, primaries), doors: make([]*door, primaries),
	}
	for slot := range e.owner {
		e.owner[slot] = slot * primaries / slotCount
	}
	for range primaries {
		m := miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			_ = e.Close()
			return nil, fmt.Errorf("redistest: miniredis: %w", err)
		}
		e.nodes = append(e.nodes, m)
		e.addrs = append(e.addrs, m.Addr())
		e.calls = append(e.calls, make(map[string]int))
	}
	for i := range e.nodes {
		e.attach(i)
	}
	return e, nil
}

// Close stops all nodes.
func (e *Emulated) Close() error {
	e.restarts.Lock()
	defer e.restarts.Unlock()
	for i := range e.nodes {
		e.stop(i)
	}
	return nil
}

// Addrs returns the addresses of all nodes, host:port.
func (e *Emulated) Addrs() []string { return slices.Clone(e.addrs) }

// Nodes returns the miniredis nodes, to read and write keys and to set passwords. Do not close or
// restart them: use [Emulated.Stop] and [Emulated.Start]. Their addresses are those of
// [Emulated.Addrs], also where miniredis says otherwise.
func (e *Emulated) Nodes() []*miniredis.Miniredis { return e.nodes }

// FastForward advances the time of all nodes by d. Keys expire only by it.
func (e *Emulated) FastForward(d time.Duration) {
	for _, m := range e.nodes {
		m.FastForward(d)
	}
}

// Inject replaces replies of the node by errors. If reply returns a text for a command, that is
// the error reply, and the command does not run. It is not asked about CLUSTER and commands in
// scripts. It must not call methods of e. A nil reply ends it.
func (e *Emulated) Inject(node int, reply func(cmd string, args []string) string) {
	e.checkNode(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inject[node] = reply
}

// Calls returns how many commands of the name, in capitals, the node has run.
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

// hook answers in the node's place what a node of a cluster answers
// differently, and reports whether it did. It is not atomic with the command:
// do not move slots that are written to at the same time.
func (e *Emulated) hook(node int, p *server.Peer, cmd string, args []string) bool {
	if e.inScript(p) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch cmd {
	case "CLUSTER":
		return e.cluster(node, p, args)
	case "ASKING":
		e.clients[p] = client{asking: true, multi: e.clients[p].multi}
		p.WriteOK()
		return true
	case "READONLY", "READWRITE":
		p.WriteOK()
		return true
	}
	asked := e.clients[p].asking
	e.clients[p] = e.clients[p].after(cmd)
	refusal := ""
	if f := e.inject[node]; f != nil {
		refusal = f(cmd, args)
	}
	if refusal == "" {
		refusal = e.redirect(node, asked, commandKeys(cmd, args))
	}
	if refusal != "" {
		e.spoil(node, p, cmd)
		p.WriteError(refusal)
		return true
	}
	e.calls[node][cmd]++
	return false
}

// A client is what its last commands were.
type client struct {
	asking bool // ASKING, which holds for a command, or up to EXEC
	multi  bool // MULTI
}

// after returns what the client is behind one more command.
func (c client) after(cmd string) client {
	switch cmd {
	case "MULTI":
		return client{asking: c.asking, multi: true}
	case "EXEC", "DISCARD", "RESET":
		return client{}
	}
	return client{asking: c.asking && c.multi, multi: c.multi}
}

// spoil makes EXEC fail behind a command that was refused, and ends the transaction if that is
// EXEC: miniredis does it at a command without its arguments, of a peer that has the client's state.
func (e *Emulated) spoil(node int, p *server.Peer, cmd string) {
	if p.Ctx == nil {
		return
	}
	ghost := server.NewPeer(bufio.NewWriter(io.Discard))
	ghost.Ctx = p.Ctx
	command := "GET"
	if cmd == "EXEC" {
		command = "DISCARD"
	}
	e.servers[node].Dispatch(ghost, []string{command})
}

// inScript reports whether the command comes from a script, whose keys have
// been checked and which holds miniredis' lock: miniredis runs such commands
// for a peer that it has made, with a context, for them.
func (e *Emulated) inScript(p *server.Peer) bool {
	if _, known := e.peers.Load(p); known {
		return false
	}
	if p.Ctx != nil {
		return true
	}
	e.peers.Store(p, nil)
	p.OnDisconnect(func() {
		e.peers.Delete(p)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.clients, p)
	})
	return false
}

// commandKeys returns a command's keys.
func commandKeys(cmd string, args []string) (keys []string) {
	for all := command.Of(resp.AppendCommand(nil, cmd, args...)).Keys(); ; {
		key, ok := all.Next()
		if !ok {
			return keys
		}
		keys = append(keys, string(key))
	}
}

// redirect returns the error for a command that the node does not serve.
func (e *Emulated) redirect(node int, asked bool, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	slot := radix.ClusterSlot([]byte(keys[0]))
	missing := 0
	for _, key := range keys {
		if radix.ClusterSlot([]byte(key)) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
		if !e.nodes[node].Exists(key) {
			missing++
		}
	}
	to, migrating := e.importing[slot]
	switch {
	case e.owner[slot] == node && migrating && missing == len(keys):
		return fmt.Sprintf("ASK %d %s", slot, e.addrs[to])
	case e.owner[slot] == node && migrating && missing > 0, migrating && to == node && asked && missing > 0 && len(keys) > 1:
		return "TRYAGAIN Multiple keys request during rehashing of slot"
	case e.owner[slot] == node, migrating && to == node && asked:
		return ""
	}
	return fmt.Sprintf("MOVED %d %s", slot, e.addrs[e.owner[slot]])
}

// cluster answers CLUSTER SLOTS, NODES, KEYSLOT and INFO.
func (e *Emulated) cluster(node int, p *server.Peer, args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch strings.ToUpper(args[0]) {
	case "SLOTS":
		e.writeSlots(p)
	case "NODES":
		p.WriteBulk(e.nodeLines(node))
	case "KEYSLOT":
		if len(args) != 2 {
			return false
		}
		p.WriteInt(int(radix.ClusterSlot([]byte(args[1]))))
	case "INFO":
		p.WriteBulk(fmt.Sprintf("cluster_state:ok\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%[1]d\r\ncluster_size:%d\r\n", slotCount, len(e.nodes)))
	default:
		return false
	}
	return true
}
