package model

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
)

// liveCommands is how many commands the fidelity test compares with each server;
// REDISLANES_FIDELITY says another number, and REDISLANES_FIDELITY_SEED another seed.
func liveCommands(t *testing.T) int {
	n := race.Rounds(100_000, 40_000)
	if s := os.Getenv("REDISLANES_FIDELITY"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	if testing.Short() {
		n = min(n, 5000)
	}
	return n
}

// A twin is a real cluster and its model.
type twin struct {
	t        *testing.T
	ctx      context.Context
	real     *servers.Cluster
	model    *Cluster
	gen      generator
	pairs    []*pair
	slots    [3]uint16 // of the generator's tags: two of the first primary, one of the second
	seed     uint64
	count    int
	failures int      // some are told, for a defect shows in many ways
	admins   [2]*pair // at the first primary and its replica
	locked   bool     // the first primary wants a password
}

// newTwin starts servers, and a model with their addresses and IDs.
func newTwin(t *testing.T, server, binary string, seed uint64) *twin {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w := &twin{t: t, ctx: ctx, seed: seed}
	w.real = servers.StartCluster(t, servers.Options{
		Primaries: 2, Replicas: 1, Binary: binary, NodeTimeout: 15 * time.Second,
		Directives: []string{"cluster-allow-replica-migration no"},
	})
	nodes := w.real.Nodes()
	w.model = New(Options{
		Primaries: 2, Replicas: 1, Server: server,
		Addr: func(i int) string { return nodes[i].Addr() },
		ID:   func(i int) string { return nodes[i].ID() },
	})
	w.gen = newGenerator(server, seed)
	for i, tag := range w.gen.tags {
		w.slots[i] = Slot([]byte("{" + tag + "}"))
	}
	require.Same(t, w.model.Nodes()[0], w.model.Owner(w.slots[0]))
	require.Same(t, w.model.Nodes()[0], w.model.Owner(w.slots[1]))
	require.Same(t, w.model.Nodes()[1], w.model.Owner(w.slots[2]))
	return w
}

// The model replies as real servers do, byte for byte, to random commands in
// random states.
func TestFidelity(t *testing.T) {
	eachServer(t, func(t *testing.T, server, binary string) {
		seed := uint64(1)
		if s := os.Getenv("REDISLANES_FIDELITY_SEED"); s != "" {
			var err error
			seed, err = strconv.ParseUint(s, 10, 64)
			require.NoError(t, err)
		}
		w := newTwin(t, server, binary, seed)
		start, want := time.Now(), liveCommands(t)
		for w.count < want {
			w.round(min(1000, want-w.count))
		}
		t.Logf("%d commands in %v", w.count, time.Since(start).Round(time.Millisecond))
	})
}

// versions are what the servers of dialects say of themselves.
var versions = map[string]string{"Redis server v=7.0.": "", "Redis server v=8.10.": "redis-8.10", "Valkey server v=9.": "valkey-9"}

// eachServer runs the test with each server that the model knows, and its name among dialects.
func eachServer(t *testing.T, test func(t *testing.T, server, binary string)) {
	for _, binary := range servers.Servers(t) {
		t.Run(filepath.Base(binary), func(t *testing.T) {
			out, err := exec.Command(binary, "--version").Output()
			require.NoError(t, err)
			for version, server := range versions {
				if strings.HasPrefix(string(out), version) {
					test(t, server, binary)
					return
				}
			}
			t.Skip("the model is not one of this server")
		})
	}
}

// do runs a command on a real node that changes its state.
func (w *twin) do(node int, cmd string, args ...string) {
	require.NoError(w.t, w.real.Nodes()[node].Do(w.ctx, nil, cmd, args...))
}

// round compares commands in one state of the servers.
func (w *twin) round(commands int) {
	w.do(0, "FLUSHALL")
	w.do(1, "FLUSHALL")
	w.do(0, "SCRIPT", "FLUSH")
	w.do(1, "SCRIPT", "FLUSH")
	w.do(2, "SCRIPT", "FLUSH")
	for _, n := range w.model.Nodes() {
		n.lock(func(time.Time) {
			if n.source == nil {
				n.clear()
			}
			clear(n.scripts)
		})
	}
	restore := w.state()
	for _, node := range []int{0, 0, 1, 2} {
		w.pairs = append(w.pairs, newPair(w, node))
	}
	for end := w.count + commands; w.count < end; {
		w.batch(w.pairs[w.gen.IntN(len(w.pairs))], 1+w.gen.IntN(min(24, end-w.count)))
	}
	for _, p := range w.pairs {
		p.close()
	}
	w.pairs = nil
	restore()
}

// state makes the servers, and the model, refuse some things, and returns what
// ends it.
func (w *twin) state() (restore func()) {
	a, b := w.model.Nodes()[0], w.model.Nodes()[1]
	ids := []string{w.real.Nodes()[0].ID(), w.real.Nodes()[1].ID()}
	slot := strconv.Itoa(int(w.slots[1]))
	switch w.gen.IntN(10) {
	case 0, 1, 2, 3:
		w.do(1, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
		w.do(0, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
		require.True(w.t, w.model.Migrate(w.slots[1], b))
		w.gen.migrating = true
		return func() {
			w.gen.migrating = false
			w.do(0, "FLUSHALL")
			w.do(1, "FLUSHALL")
			w.do(0, "CLUSTER", "SETSLOT", slot, "STABLE")
			w.do(1, "CLUSTER", "SETSLOT", slot, "STABLE")
			w.model.AbortMigration(w.slots[1])
		}
	case 4:
		w.do(0, "CONFIG", "SET", "maxmemory", "1")
		a.OOM(true)
		return func() { w.do(0, "CONFIG", "SET", "maxmemory", "0"); a.OOM(false) }
	case 5:
		w.do(0, "CONFIG", "SET", "min-replicas-to-write", "5")
		a.NoReplicas(true)
		return func() { w.do(0, "CONFIG", "SET", "min-replicas-to-write", "0"); a.NoReplicas(false) }
	case 6:
		return w.passwords(a)
	}
	return func() {}
}

func (w *twin) passwords(a *Node) (restore func()) {
	w.do(0, "CONFIG", "SET", "requirepass", "secret")
	a.RequirePass("", "secret", false)
	w.locked = true
	return func() {
		w.locked = false
		p := newPair(w, 0)
		p.send([][]byte{[]byte("AUTH"), []byte("secret")}, [][]byte{[]byte("CONFIG"), []byte("SET"), []byte("requirepass"), nil})
		for range 2 {
			require.Equal(w.t, "+OK\r\n", string(p.receive()))
		}
		p.close()
		a.RequirePass("", "", false)
	}
}

// batch sends commands of one session at once, and compares all replies.
func (w *twin) batch(p *pair, n int) {
	if p.node == 2 {
		w.waitForReplica()
	}
	if !p.model.authed { // newer servers hang up on strangers for whom more than a buffer of replies waits
		n = min(n, 4)
	}
	var commands [][][]byte
	var wants [][]byte
	sleep := time.Duration(0)
	for range n {
		var args [][]byte
		if w.gen.IntN(20000) == 0 {
			args, sleep = w.gen.words("PEXPIRE k 20"), 30*time.Millisecond
		} else {
			args = w.gen.command(p)
		}
		if w.gen.migrating && w.gen.IntN(300) == 0 {
			break
		}
		estranges := w.locked && strings.EqualFold(string(args[0]), "RESET") || // with replies that wait, see above
			w.model.dialect.newer && bytes.Contains(bytes.ToUpper(bytes.Join(args, nil)), []byte("AUTH")) // 8.10 loses its refusal behind other replies
		if estranges && len(commands) > 0 {
			break
		}
		reply, hangUp := p.model.Do(args)
		if hangUp {
			w.t.Fatalf("the model hangs up at %q", args)
		}
		commands, wants = append(commands, args), append(wants, bytes.Clone(reply))
		if sleep > 0 || estranges {
			break
		}
	}
	p.send(commands...)
	for i, want := range wants {
		w.count++
		for len(want) > 0 { // of SUBSCRIBE there are several
			mine, err := readReply(bufio.NewReader(bytes.NewReader(want)))
			require.NoError(w.t, err, "%q", want)
			want = want[len(mine):]
			theirs := p.receive()
			if difference := differ(commands[i], mine, theirs); difference != "" {
				w.fail(p, commands, i, mine, theirs, difference)
			}
		}
	}
	time.Sleep(sleep)
	if w.gen.migrating && w.gen.IntN(20) == 0 {
		w.moveSome()
	}
}

func (w *twin) fail(p *pair, commands [][][]byte, i int, mine, theirs []byte, difference string) {
	var b strings.Builder
	for _, args := range commands[:i+1] {
		fmt.Fprintf(&b, "\t%q\n", args)
	}
	if w.failures++; w.failures > 10 {
		w.t.FailNow()
	}
	w.t.Errorf("seed %d, command %d, node %d, RESP%d, in MULTI: %t: %s\n%s\nmodel: %q\nserver: %q", w.seed, w.count, p.node, p.model.out.resp, p.model.multi, difference, b.String(), mine, theirs)
}

// waitForReplica waits until the real replica has what its primary wrote.
func (w *twin) waitForReplica() {
	if w.admins[0] == nil {
		w.admins = [2]*pair{newPair(w, 0), newPair(w, 2)}
	}
	primary, replica := w.admins[0], w.admins[1]
	primary.send(w.gen.words("AUTH secret"))
	primary.receive()
	written := primary.offset()
	for replica.offset() < written {
		runtime.Gosched()
	}
}

// moveSome moves some keys of the slot that is on its way.
func (w *twin) moveSome() {
	a, b := w.model.Nodes()[0], w.model.Nodes()[1]
	keys := a.inSlot(w.slots[1])
	keys = keys[:w.gen.IntN(len(keys)+1)]
	if len(keys) == 0 {
		return
	}
	a.lock(func(time.Time) { w.model.moveKeys(a, b, keys) })
	args := []string{"127.0.0.1", strconv.Itoa(w.real.Nodes()[1].Port()), "", "0", "5000", "REPLACE", "KEYS"}
	w.do(0, "MIGRATE", append(args, keys...)...)
}
