package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// A world is servers that answer as a test says, over pipes, so that their time
// may be that of a synctest bubble.
type world struct {
	// answer returns the reply to a command that is not part of the handshake.
	// "" is silence, for ever on that connection.
	answer func(addr string, cmd []string) string
	// handshake returns the reply to a command of the handshake; "": the usual one. Nil:
	// all of them.
	handshake func(cmd []string) string

	mu     sync.Mutex // guards what follows
	slots  string     // the reply to CLUSTER SLOTS
	dead   map[string]bool
	silent map[string]bool // they accept connections and say nothing
	conns  map[net.Conn]string
}

const (
	nodeA = "127.0.0.1:7001"
	nodeB = "127.0.0.1:7002"
	nodeC = "127.0.0.1:7003"
)

func newWorld(answer func(addr string, cmd []string) string, primaries ...string) *world {
	return &world{answer: answer, slots: slotMap(primaries...), dead: make(map[string]bool),
		silent: make(map[string]bool), conns: make(map[net.Conn]string)}
}

// open returns a client, which is closed at the test's end.
func (w *world) open(t testing.TB, c cluster.Config) *cluster.Client {
	t.Helper()
	c.Dialer = lanes.Dialer{NetDial: w.dial}
	client, err := c.New(t.Context(), []string{nodeA, nodeB})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (w *world) dial(_ context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[addr] {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	w.conns[theirs] = addr
	go w.serve(theirs, addr)
	return ours, nil
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	for conn, addr := range w.conns {
		if w.dead[addr] {
			delete(w.conns, conn)
			_ = conn.Close()
		}
	}
}

func (w *world) serve(conn net.Conn, addr string) {
	defer conn.Close()
	defer w.set(func() { delete(w.conns, conn) })
	in := bufio.NewReader(conn)
	for {
		cmd, err := readCommand(in)
		if err != nil {
			return
		}
		reply := w.reply(addr, cmd)
		if reply == "" {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func (w *world) reply(addr string, cmd []string) string {
	w.mu.Lock()
	silent, slots := w.silent[addr], w.slots
	w.mu.Unlock()
	if w.handshake != nil && !silent {
		if reply := w.handshake(cmd); reply != "" {
			return reply
		}
	}
	switch name := strings.ToUpper(cmd[0]); {
	case silent:
		return ""
	case name == "CLUSTER" && strings.EqualFold(cmd[1], "SLOTS"):
		return slots
	case name == "CLUSTER":
		return "-ERR unknown subcommand\r\n"
	case name == "CLIENT", name == "READONLY", name == "READWRITE":
		return "+OK\r\n"
	case name == "PING":
		return "+PONG\r\n"
	case name == "ROLE":
		return "*1\r\n" + bulk("master")
	}
	return w.answer(addr, cmd)
}

// mapOf is a reply to CLUSTER SLOTS of one shard.
func mapOf(primary string, replicas ...string) string {
	nodes := ""
	for _, addr := range append([]string{primary}, replicas...) {
		host, port, _ := net.SplitHostPort(addr)
		nodes += "*3\r\n" + bulk(host) + ":" + port + "\r\n" + bulk(idOf(addr))
	}
	return fmt.Sprintf("*1\r\n*%d\r\n:0\r\n:16383\r\n%s", 3+len(replicas), nodes)
}

// keyOf returns a key in a slot that the map gives to the i-th of n primaries.
func keyOf(i, n int) string {
	for k := 0; ; k++ {
		key := fmt.Sprint("key", k)
		if int(cluster.Slot(key))*n/cluster.SlotCount == i {
			return key
		}
	}
}

const one = ":1\r\n"

// soon is a context with a deadline in the bubble's time.
func soon(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
