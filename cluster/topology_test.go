package cluster_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// traffic is callers that must not see an error.
type traffic struct {
	calls   atomic.Int64
	stop    chan struct{}
	callers sync.WaitGroup
}

// startTraffic counts all keys in each call.
func startTraffic(t *testing.T, client *cluster.Client, callers int, keys []string) *traffic {
	l := &traffic{stop: make(chan struct{})}
	for range callers {
		l.callers.Go(func() {
			p := pipeline.New(client)
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				l.call(t, p, keys)
			}
		})
	}
	return l
}

func (l *traffic) call(t *testing.T, p *pipeline.Pipeline, keys []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.Reset()
	for _, key := range keys {
		p.IncrBy(key, 1)
		p.Expire(key, time.Hour)
	}
	assert.NoError(t, p.Do(ctx))
	l.calls.Add(1)
}

// more waits until the callers have made further calls.
func (l *traffic) more(t *testing.T, ctx context.Context) {
	t.Helper()
	seen := l.calls.Load()
	until(t, ctx, "further calls", func() bool { return l.calls.Load() >= seen+50 })
}

// end stops the callers.
func (l *traffic) end() {
	close(l.stop)
	l.callers.Wait()
}

func TestDeadSeeds(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{})
	ctx := within(t, 30*time.Second)
	dead := []string{closedPort(t), closedPort(t), closedPort(t)}

	_, err := cluster.Config{}.New(ctx, dead)
	var unreachable *cause.Unreachable
	require.ErrorAs(t, err, &unreachable)
	require.Len(t, unreachable.Causes, len(dead))
	for i, addr := range dead {
		require.Contains(t, err.Error(), addr)
		require.Equal(t, addr, unreachable.Causes[i].Addr)
		var op *net.OpError
		require.ErrorAs(t, unreachable.Causes[i].Err, &op)
	}

	client := open(t, cluster.Config{RefreshEvery: -1}, append(dead, real.Addrs()[2]))
	require.Equal(t, cluster.SlotCount, client.Stats().Slots)

	// A node that dies now fails neither refreshes nor another client's start.
	require.NoError(t, real.Nodes()[0].Kill())
	for range 6 { // in random order: the dead one will be asked first some time
		require.NoError(t, client.Sync(ctx))
	}
	require.Zero(t, client.Stats().RefreshErrors)
	late := open(t, cluster.Config{}, real.Addrs())
	require.Equal(t, cluster.SlotCount, late.Stats().Slots)
	until(t, ctx, "the slots of the living nodes are served", func() bool {
		// Servers refuse everything for a moment, having lost a primary.
		return late.Do(ctx, radix.Cmd(nil, "CLUSTER", "INFO")) == nil
	})
}

// named counts the node's connections with the client's name.
func named(t *testing.T, ctx context.Context, n *servers.Node, name string) int {
	t.Helper()
	var list string
	require.NoError(t, n.Do(ctx, &list, "CLIENT", "LIST"))
	return strings.Count(list, " name="+name+" ")
}

// TestNodesJoinAndLeave lets a node without slots get some, and then another
// one lose all of its slots and be forgotten, while callers count.
func TestNodesJoinAndLeave(t *testing.T) {
	t.Parallel()
	const name = "watched"
	const few = 200
	most := (cluster.SlotCount - few) / 2
	real := servers.StartCluster(t, servers.Options{
		Primaries: 4, Slots: []int{most, most, few, 0}, Directives: []string{"cluster-allow-replica-migration no"},
	})
	ctx := within(t, 60*time.Second)
	nodes := real.Nodes()
	leaver, joiner := nodes[2], nodes[3]
	var first, last []uint16
	for i := range uint16(few) {
		first, last = append(first, i), append(last, cluster.SlotCount-few+i)
	}

	keys := redistest.KeysInSlots(9, "join")
	keys = append(keys, redistest.KeyInSlot(first[1], "comes"), redistest.KeyInSlot(first[few-1], "comes"), redistest.KeyInSlot(last[1], "leaves"))
	// A node with its first slots says CLUSTERDOWN for as long as it likes
	// (CLUSTER_WRITABLE_DELAY in the server's source is 2 s).
	client := open(t, cluster.Config{
		Dialer:       lanes.Dialer{ClientName: name},
		RetryWindow:  cluster.WhileContextLasts,
		RefreshEvery: time.Second, // no key is in the slots that move last
	}, real.Addrs()[:1])
	l := startTraffic(t, client, 8, keys)
	l.more(t, ctx)
	require.Len(t, client.Stats().Nodes, 3)
	require.Zero(t, named(t, ctx, joiner, name))
	require.NotZero(t, named(t, ctx, leaver, name))

	require.NoError(t, real.Reshard(ctx, first, joiner))
	until(t, ctx, "the new node is used", func() bool { return named(t, ctx, joiner, name) > 0 })
	l.more(t, ctx)
	require.NotZero(t, stat(t, ctx, joiner, "incrby"))

	require.NoError(t, real.Reshard(ctx, last, joiner))
	for _, n := range nodes {
		if n != leaver {
			require.NoError(t, n.Do(ctx, nil, "CLUSTER", "FORGET", leaver.ID()))
		}
	}
	began := time.Now()
	until(t, ctx, "the connections to the node that has left are closed", func() bool {
		return named(t, ctx, leaver, name) == 0
	})
	took := time.Since(began)
	for _, n := range client.Stats().Nodes {
		require.NotEqual(t, leaver.Addr(), n.Pool.Addr)
	}
	served := stat(t, ctx, leaver, "incrby")
	l.more(t, ctx)
	l.end()
	require.Equal(t, served, stat(t, ctx, leaver, "incrby"))
	for _, key := range keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.Equal(t, l.calls.Load(), n, key)
	}
	s := client.Stats()
	t.Logf("%d calls, none failed; %d MOVED, %d ASK, %d refreshes; connections closed %v after FORGET", l.calls.Load(), s.Moved, s.Ask, s.Refreshes, took)
}

// TestIdleClientDialsNothing: the map is asked for over connections that are there. Without any, nobody is asked.
func TestIdleClientDialsNothing(t *testing.T) {
	t.Parallel()
	for name, uses := range map[string]bool{"it was used": true, "it was never used": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
				var dials atomic.Int64
				config := cluster.Config{RefreshEvery: 5 * time.Second}
				config.Dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials.Add(1)
					return w.dial(ctx, network, addr)
				}
				client := open(t, config, []string{nodeA})
				if uses {
					require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
				}
				time.Sleep(time.Second)
				began, refreshed := dials.Load(), client.Stats().Refreshes
				time.Sleep(time.Minute)
				require.Equal(t, began, dials.Load())
				require.Equal(t, uses, client.Stats().Refreshes > refreshed+10)
			})
		})
	}
}

// TestNamesThatChange: nodes that disagree on the name of one of them cost no connection.
func TestNamesThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, before, _ := failover(func([]string) string { return "" })
		w.nodes = []placing{{shard, oldID}}
		w.lead(other, before)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		for i := range 10 {
			w.mu.Lock()
			w.nodes = []placing{{[]string{other, shard}[i%2], oldID}}
			w.mu.Unlock()
			require.NoError(t, client.Sync(t.Context()))
			require.Equal(t, shard, client.Primary(0))
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		}
		require.Zero(t, w.dialled(other))
	})
}
