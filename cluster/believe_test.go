package cluster_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A row is what a scripted server says of one primary.
type row struct {
	at          *fake
	id          string
	first, last int
	epoch       int
}

// scripted is servers that tell the maps that a test gives them.
type scripted struct {
	fakes []*fake
	mu    sync.Mutex // guards what follows
	says  map[*fake][]row
}

// newUnstarted makes servers, each with a part of the slots. All tell the same map, with config epochs from
// 1 on. Each has its ID, which INCR and GET reply by its number.
func newUnstarted(t *testing.T, n int) *scripted {
	t.Helper()
	s := &scripted{says: make(map[*fake][]row)}
	for i := range n {
		f := newFake(t)
		f.id = id(i)
		f.slots = func() string { slots, _ := s.replies(f); return slots }
		f.nodes = func() string { _, nodes := s.replies(f); return nodes }
		f.answer = say(fmt.Sprintf(":%d\r\n", i))
		s.fakes = append(s.fakes, f)
	}
	s.all(s.parts("node"))
	return s
}

// start lets the servers, which do not change any more, serve.
func (s *scripted) start() {
	for _, f := range s.fakes {
		f.start()
	}
}

// newScripted starts servers.
func newScripted(t *testing.T, n int) *scripted {
	t.Helper()
	s := newUnstarted(t, n)
	s.start()
	return s
}

func id(i int) string { return fmt.Sprintf("node-%d", i) }

func (s *scripted) parts(prefix string) []row {
	var rows []row
	for i, f := range s.fakes {
		n := len(s.fakes)
		rows = append(rows, row{f, fmt.Sprintf("%s-%d", prefix, i), i * cluster.SlotCount / n, (i+1)*cluster.SlotCount/n - 1, i + 1})
	}
	return rows
}

func (s *scripted) tell(f *fake, rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.says[f] = rows
}

func (s *scripted) all(rows []row) {
	for _, f := range s.fakes {
		s.tell(f, rows)
	}
}

func (s *scripted) addrs() (addrs []string) {
	for _, f := range s.fakes {
		addrs = append(addrs, f.addr())
	}
	return addrs
}

func (s *scripted) replies(asked *fake) (slots, nodes string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.says[asked]
	if rows == nil {
		return noCluster, noCluster
	}
	slots = fmt.Sprintf("*%d\r\n", len(rows))
	for _, r := range rows {
		host, port, _ := strings.Cut(r.at.addr(), ":")
		slots += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n%s:%s\r\n%s", r.first, r.last, bulk(host), port, bulk(r.id))
		flags := "master"
		if r.at == asked {
			flags = "myself,master"
		}
		nodes += fmt.Sprintf("%s %s@1 %s - 0 0 %d connected %d-%d\n", r.id, r.at.addr(), flags, r.epoch, r.first, r.last)
	}
	return slots, bulk(nodes)
}

// owner returns the number of the server that a command for the slot reaches.
func owner(t *testing.T, ctx context.Context, client *cluster.Client, slot uint16) int {
	t.Helper()
	n := -1
	require.NoError(t, client.Do(ctx, radix.Cmd(&n, "INCR", redistest.KeyInSlot(slot, "believed"))))
	return n
}

func (s *scripted) open(t *testing.T, config cluster.Config) *cluster.Client {
	t.Helper()
	config.RefreshEvery, config.Pool = -1, pool.Fixed{Size: 1}
	return open(t, config, s.addrs())
}

// refreshes asks often enough that each server is the first one to be asked
// some time.
func refreshes(ctx context.Context, client *cluster.Client) (failed int) {
	for range 20 {
		if client.Sync(ctx) != nil {
			failed++
		}
	}
	return failed
}

// TestPartitionedPrimary: it does not know that its slots have gone to another
// node, as MOVED or a newer map has said.
func TestPartitionedPrimary(t *testing.T) {
	t.Parallel()
	s := newScripted(t, 4)
	old := s.parts("node")
	promoted := append([]row{}, old...)
	promoted[0] = row{s.fakes[3], id(3), old[0].first, old[0].last, 7}
	client := s.open(t, cluster.Config{})
	ctx := within(t, 10*time.Second)
	require.Zero(t, owner(t, ctx, client, 0))

	s.all(promoted)
	require.NoError(t, client.Sync(ctx))
	require.Equal(t, 3, owner(t, ctx, client, 0))
	s.tell(s.fakes[0], old)
	require.Zero(t, refreshes(ctx, client))
	require.Equal(t, 3, owner(t, ctx, client, 0))
	for _, f := range s.fakes[1:] {
		f.close()
	}
	require.Zero(t, refreshes(ctx, client))
	require.NotEqual(t, s.fakes[0].addr(), client.Primary(0))
}

// TestMovedOutlivesOldMaps: what MOVED has said stands although the only server
// that answers does not know of it.
func TestMovedOutlivesOldMaps(t *testing.T) {
	t.Parallel()
	s := newUnstarted(t, 3)
	s.fakes[1].answer = func(w io.Writer, cmd []string) bool {
		_, err := fmt.Fprintf(w, "-MOVED %d %s\r\n", cluster.Slot(cmd[1]), s.fakes[2].addr())
		return err == nil
	}
	s.start()
	client := s.open(t, cluster.Config{})
	ctx := within(t, 10*time.Second)
	slot := uint16(s.parts("node")[1].first)
	require.Equal(t, s.fakes[1].addr(), client.Primary(slot))
	s.fakes[0].close() // it and the new owner cannot be asked for the map
	s.tell(s.fakes[2], []row{})
	require.Equal(t, 2, owner(t, ctx, client, slot))
	require.Zero(t, refreshes(ctx, client))
	require.Equal(t, s.fakes[2].addr(), client.Primary(slot))
}
