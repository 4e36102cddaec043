package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// A behind is a server with a node ID. Its connections stay open when its name leads to
// another server.
type behind struct {
	id string
	// refuses returns the error for a command with a key; "": it is run. Nil: all are run.
	refuses func(cmd []string) string
	role    string // in ROLE
	ran     int    // commands with a key, guarded by the mutex of the names
}

// A placing is a node in the map that all servers tell.
type placing struct{ addr, id string }

// names is a DNS, and the servers that it leads to, over pipes, so that their time may be
// that of a synctest bubble. There is one shard.
type names struct {
	mu    sync.Mutex // guards what follows
	leads map[string]*behind
	nodes []placing // the primary and its replicas
	epoch int
	dials map[string]int
}

const (
	shard = "shard:7001" // the name of all nodes of the shard
	other = "other:7001"
	oldID = "node-0"
	newID = "node-1"
)

// failover is the usual world of these tests: both nodes of the shard have its name, which
// leads to the first of them.
func failover(refuses func(cmd []string) string) (w *names, before, after *behind) {
	before, after = &behind{id: oldID, role: "master"}, &behind{id: newID, role: "slave"}
	w = &names{leads: map[string]*behind{shard: before}, epoch: 1, dials: make(map[string]int),
		nodes: []placing{{shard, oldID}, {shard, newID}}}
	before.refuses = func(cmd []string) string {
		if w.epoch == 1 {
			return ""
		}
		return refuses(cmd)
	}
	return w, before, after
}

// failOver makes the replica the primary, in the map of all servers.
func (w *names) failOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch++
	slices.Reverse(w.nodes)
}

// lead makes the name lead to another server; nil: to none.
func (w *names) lead(name string, to *behind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leads[name] = to
}

func (w *names) runs(of *behind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return of.ran
}

func (w *names) dialled(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials[name]
}

func (w *names) open(t testing.TB, c cluster.Config) *cluster.Client {
	t.Helper()
	c.Dialer = lanes.Dialer{NetDial: w.dial}
	client, err := c.New(t.Context(), []string{shard})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (w *names) dial(_ context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials[addr]++
	to := w.leads[addr]
	if to == nil {
		return nil, errors.New("no such host")
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		in := bufio.NewReader(theirs)
		for {
			cmd, err := readCommand(in)
			if err != nil {
				return
			}
			if _, err := io.WriteString(theirs, w.reply(to, cmd)); err != nil {
				return
			}
		}
	}()
	return ours, nil
}

func (w *names) reply(s *behind, cmd []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name := strings.ToUpper(cmd[0]); {
	case name == "CLUSTER":
		return w.cluster(s, strings.ToUpper(cmd[1]))
	case name == "ROLE":
		return "*1\r\n" + bulk(s.role)
	case slices.Contains([]string{"CLIENT", "READONLY", "READWRITE", "ASKING"}, name):
		return "+OK\r\n"
	case name == "PING":
		return "+PONG\r\n"
	}
	if s.refuses != nil {
		if refusal := s.refuses(cmd); refusal != "" {
			return refusal
		}
	}
	s.ran++
	if strings.EqualFold(cmd[0], "BLPOP") {
		return "*2\r\n" + bulk(cmd[1]) + bulk(s.id)
	}
	return bulk(s.id)
}

func (w *names) cluster(s *behind, sub string) string {
	switch {
	case sub == "MYID":
		return bulk(s.id)
	case sub == "SLOTS":
		reply := fmt.Sprintf("*1\r\n*%d\r\n:0\r\n:16383\r\n", 2+len(w.nodes))
		for _, n := range w.nodes {
			host, port, _ := strings.Cut(n.addr, ":")
			reply += "*3\r\n" + bulk(host) + ":" + port + "\r\n" + bulk(n.id)
		}
		return reply
	}
	text := ""
	for i, n := range w.nodes {
		role, slots := "slave "+w.nodes[0].id, ""
		if i == 0 {
			role, slots = "master -", " 0-16383"
		}
		if n.id == s.id {
			role = "myself," + role
		}
		text += fmt.Sprintf("%s %s@1 %s 0 0 %d connected%s\n", n.id, n.addr, role, w.epoch, slots)
	}
	return bulk(text)
}

// movedTo is a MOVED for each command with a key, to the address.
func movedTo(addr string) func(cmd []string) string { return redirectedTo("MOVED", addr) }

func redirectedTo(code, addr string) func(cmd []string) string {
	return func(cmd []string) string { return fmt.Sprintf("-%s %d %s\r\n", code, cluster.Slot("k"), addr) }
}
