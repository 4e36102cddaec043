package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest/sim"
)

// A watcher is a Sentinel.
type watcher struct {
	mu          sync.Mutex // guards what follows
	id, primary string
	epoch       int
	replicas    []string
	sentinels   map[string]string // addresses of the others by their IDs
}

// tell makes f answer as the Sentinel.
func (s *watcher) tell(f *fake) {
	f.answer = func(w io.Writer, cmd []string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := io.WriteString(w, s.reply(cmd))
		return err == nil
	}
	f.start()
}

func (s *watcher) reply(cmd []string) string {
	if !strings.EqualFold(cmd[0], "SENTINEL") {
		return "+PONG\r\n"
	}
	switch cmd[1] {
	case "GET-MASTER-ADDR-BY-NAME":
		host, port, _ := net.SplitHostPort(s.primary)
		return "*2\r\n" + bulk(host) + bulk(port)
	case "MASTER":
		return instanceRow(s.primary, "config-epoch", fmt.Sprint(s.epoch))
	case "REPLICAS":
		reply := fmt.Sprintf("*%d\r\n", len(s.replicas))
		for _, addr := range s.replicas {
			reply += instanceRow(addr, "flags", "slave")
		}
		return reply
	case "SENTINELS":
		reply := fmt.Sprintf("*%d\r\n", len(s.sentinels))
		for id, addr := range s.sentinels {
			reply += instanceRow(addr, "runid", id)
		}
		return reply
	}
	return bulk(s.id)
}

func instanceRow(addr, name, value string) string {
	host, port, _ := net.SplitHostPort(addr)
	return "*6\r\n" + bulk("ip") + bulk(host) + bulk("port") + bulk(port) + bulk(name) + bulk(value)
}

// TestSentinelsAreReplaced: the servers and their Sentinels were set up again, so that config
// epochs begin at 0, and one seed leads to a new Sentinel. The others are gone for good. A
// client that runs takes the primary that a new client would find.
func TestSentinelsAreReplaced(t *testing.T) {
	t.Parallel()
	before, after, seed, gone := newFake(t), newFake(t), newFake(t), newFake(t)
	before.start()
	after.start()
	s := &watcher{id: "old-1", primary: before.addr(), epoch: 3, sentinels: map[string]string{"old-2": gone.addr()}}
	s.tell(seed)
	(&watcher{id: "old-2", primary: before.addr(), epoch: 3, sentinels: map[string]string{"old-1": seed.addr()}}).tell(gone)
	config := cluster.Config{Sentinel: &cluster.Sentinel{Primary: "it"}, RefreshEvery: -1}
	client := open(t, config, []string{seed.addr(), gone.addr()})
	gone.close()
	s.mu.Lock()
	s.primary, s.epoch = after.addr(), 0
	s.mu.Unlock()
	ctx := within(t, 10*time.Second)
	for range 3 {
		require.NoError(t, client.Sync(ctx))
	}
	require.Equal(t, before.addr(), client.Primary(0), "a Sentinel that we know may have been cut off")
	s.mu.Lock()
	s.id, s.sentinels = "new-1", nil
	s.mu.Unlock()
	require.Error(t, client.Sync(ctx), "one of ours may answer")
	require.Equal(t, before.addr(), client.Primary(0))
}

// TestAddrMapHasNoAddressForAReplica: what Config.AddrMap returns for a replica or a Sentinel
// cannot be dialled. The others are used.
func TestAddrMapHasNoAddressForAReplica(t *testing.T) {
	t.Parallel()
	primary, sentinel := newFake(t), newFake(t)
	primary.start()
	(&watcher{primary: primary.addr(), epoch: 1, replicas: []string{"far:1", "near:1"}, sentinels: map[string]string{"x": "far:2"}}).tell(sentinel)
	config := cluster.Config{Sentinel: &cluster.Sentinel{Primary: "it"}, Dialer: lanes.Dialer{NoSetInfo: true}}
	config.AddrMap = func(addr string) string {
		if strings.HasPrefix(addr, "far:") {
			return "fd00::7"
		}
		return addr
	}
	client := open(t, config, []string{sentinel.addr()})
	require.Equal(t, primary.addr(), client.Primary(0))
	sets, err := client.Clients()
	require.NoError(t, err)
	for _, set := range sets {
		require.Len(t, set.Secondaries, 1)
		require.Equal(t, "near:1", set.Secondaries[0].Addr().String())
	}
}

// TestSentinelsNameSlowPrimaries: it takes longer than a second to find the primary's address, from
// the beginning or later. New finds it, and a failover is followed.
func TestSentinelsNameSlowPrimaries(t *testing.T) {
	const late = 1500 * time.Millisecond
	for name, before := range map[string]time.Duration{"from the beginning": late, "later": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				redis := sim.Start(t, sim.Config{Sentinels: 1, Replicas: 1})
				var takes atomic.Int64
				takes.Store(int64(before))
				config := cluster.Config{Sentinel: &cluster.Sentinel{Primary: sim.SentinelName, Dialer: lanes.Dialer{NetDial: redis.Dial}}}
				config.Dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					select {
					case <-time.After(time.Duration(takes.Load())):
						return redis.Dial(ctx, network, addr)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				client := open(t, config, redis.SentinelAddrs())
				takes.Store(int64(late))
				now := redis.Owner("k").Failover()
				until := time.Now().Add(20 * time.Second)
				for client.Primary(0) != now.Addr() && time.Now().Before(until) {
					_ = client.Sync(t.Context())
					time.Sleep(100 * time.Millisecond)
				}
				require.Equal(t, now.Addr(), client.Primary(0))
			})
		})
	}
}

// TestSentinelsPrimaryKeepsItsName: the Sentinels tell of a failover, and the primary's name
// is what it was. The old primary goes on to answer reads.
func TestSentinelsPrimaryKeepsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, before, after := failover(func([]string) string { return "" })
		config := cluster.Config{RefreshEvery: -1, Sentinel: &cluster.Sentinel{Primary: "it"}}
		config.Sentinel.Dialer.NetDial = w.dial
		client := w.open(t, config)
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k")))
		w.lead(shard, after)
		after.role, before.role = "master", "slave"
		w.failOver()
		require.NoError(t, client.Sync(t.Context()))
		ran := w.runs(before)
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k")))
		require.Equal(t, ran, w.runs(before))
		require.Equal(t, 1, w.runs(after))
	})
}

// TestStaleSentinel: the first of three Sentinels was cut off, and names the old primary, which takes writes. New
// waits for most of them.
func TestStaleSentinel(t *testing.T) {
	t.Parallel()
	old, now := newFake(t), newFake(t)
	old.start()
	now.start()
	var sentinels []*fake
	var addrs []string
	for range 3 {
		f := newFake(t)
		sentinels, addrs = append(sentinels, f), append(addrs, f.addr())
	}
	for i, f := range sentinels {
		w := &watcher{id: addrs[i], primary: now.addr(), epoch: 1, sentinels: make(map[string]string)}
		for _, other := range addrs {
			if other != f.addr() {
				w.sentinels[other] = other
			}
		}
		if i == 0 {
			w.primary, w.epoch = old.addr(), 0
		}
		w.tell(f)
	}
	for _, seeds := range [][]string{addrs, addrs[:1]} {
		client := open(t, cluster.Config{Sentinel: &cluster.Sentinel{Primary: "it"}, RefreshEvery: -1}, seeds)
		require.Equal(t, now.addr(), client.Primary(0))
		require.NoError(t, client.Sync(within(t, 10*time.Second)))
		require.Equal(t, now.addr(), client.Primary(0))
	}
}
