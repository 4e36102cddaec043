package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// slotsReply is a reply to CLUSTER SLOTS with claims "host first-last id".
func slotsReply(t testing.TB, claims ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(claims))
	for _, c := range claims {
		var host, id string
		var first, last int
		_, err := fmt.Sscanf(c, "%s %d-%d %s", &host, &first, &last, &id)
		require.NoError(t, err, c)
		fmt.Fprintf(&b, "*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:1\r\n$%d\r\n%s\r\n", first, last, len(host), host, len(id), id)
	}
	return b.String()
}

// TestCloseBelievesNothing: the end of the client cuts a refresh short in which one node has
// given a map that is doubtful, and the others have not answered yet.
func TestCloseBelievesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doubtful string
		found    int // by how many refreshes before
	}{
		"slots are lost":  {slotsReply(t, "a 0-5460 a1"), 0},
		"another cluster": {slotsReply(t, "x 0-16383 x1"), 1}, // believed at the second time
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const late = 10 * time.Second
				a, others := &piped{slots: slotsReply(t, "a 0-5460 a1", "b 5461-10922 b1", "c 10923-16383 c1")}, &piped{answersAfter: late}
				dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
					if addr == "a:1" {
						return a.dial(ctx, network, addr)
					}
					return others.dial(ctx, network, addr)
				}
				client, err := Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial, Timeout: 2 * late}}.New(t.Context(), []string{"a:1"})
				require.NoError(t, err)
				a.mu.Lock()
				a.slots = c.doubtful
				a.mu.Unlock()
				before := client.topology.Load()
				for range c.found {
					client.hint()
					time.Sleep(2*mapStagger + strangersWait + time.Millisecond)
				}
				client.hint()
				time.Sleep(2*mapStagger + time.Millisecond)
				assert.Len(t, a.times(), 2+c.found, "it has been asked")
				require.NoError(t, client.Close())
				assert.Same(t, before, client.topology.Load())
				time.Sleep(late) // the bubble must be empty at its end
			})
		})
	}
}

// TestResetBesideAnotherCluster: a server of another cluster is at the address of the only
// primary, and the connection over which the other node is asked for its map is reset. That
// happens, and says nothing of the node: the next refresh asks it again.
func TestResetBesideAnotherCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ours, theirs = "a 0-16383 a1", "a 0-16383 x1"
		primary, replica := &piped{slots: slotsReply(t, ours)}, &piped{slots: slotsReply(t, ours)}
		resets := 0
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "a:1" {
				return primary.dial(ctx, network, addr)
			}
			if resets > 0 {
				resets--
				return nil, syscall.ECONNRESET
			}
			return replica.dial(ctx, network, addr)
		}
		client := open(t, Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial}}, []string{"a:1", "r:1"})
		primary.mu.Lock()
		primary.slots = slotsReply(t, theirs)
		primary.mu.Unlock()
		believed := func() string { return client.topology.Load().Map.Claims[0].ID }
		resets = 1
		require.ErrorContains(t, client.Sync(t.Context()), "another cluster's")
		require.Equal(t, "a1", believed())
		require.NoError(t, client.Sync(t.Context()))
		require.Equal(t, "a1", believed(), "the other node has answered")
		resets = 2
		require.Error(t, client.Sync(t.Context()), "what was found before counts no more")
		require.NoError(t, client.Sync(t.Context()))
		require.Equal(t, "x1", believed(), "nobody knows of another one")
	})
}

// TestHeardBesideAnotherCluster: servers of another cluster are at the addresses of two nodes.
// The third node takes no new connections, so that it cannot be asked for its map, but its open
// one works. That one is of our cluster, until it is silent, too.
func TestHeardBesideAnotherCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ours, theirs = "a 0-5460 a1,b 5461-10922 b1,c 10923-16383 c1", "a 0-8191 x1,b 8192-16383 x2"
		moved, stays := &piped{slots: slotsReply(t, strings.Split(ours, ",")...)}, &piped{slots: slotsReply(t, strings.Split(ours, ",")...)}
		var full atomic.Bool // a pool may still dial when it becomes true
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			switch {
			case addr != "c:1":
				return moved.dial(ctx, network, addr)
			case full.Load():
				return nil, syscall.ETIMEDOUT
			}
			return stays.dial(ctx, network, addr)
		}
		client := open(t, Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial}}, []string{"a:1", "b:1", "c:1"})
		incr := func(slot uint16) {
			require.NoError(t, client.do(t.Context(), "INCR", redistest.KeyInSlot(slot, "k")))
		}
		incr(16383)
		full.Store(true)
		moved.mu.Lock()
		moved.slots = slotsReply(t, strings.Split(theirs, ",")...)
		moved.mu.Unlock()
		owner := func() string { return client.topology.Load().Map.Claims[0].ID }
		for range 3 {
			incr(16383)
			require.ErrorContains(t, client.Sync(t.Context()), "another cluster's")
			require.Equal(t, "a1", owner())
		}
		time.Sleep(2 * strangersWait)
		incr(0) // the other cluster may answer it
		require.Error(t, client.Sync(t.Context()), "a connection may have been reset")
		require.NoError(t, client.Sync(t.Context()))
		require.Equal(t, "x1", owner())
	})
}

// TestLostReplies: the connection over which a server is asked for its map ends before the
// last reply has arrived. Without it less is known than before.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes = "a1 a:1@1 myself,master - 0 0 7 connected 0-16383\n"
		server := &piped{slots: slotsReply(t, "a 0-16383 a1"), id: "$2\r\na1\r\n"}
		tells := func(slots, nodes string) {
			server.mu.Lock()
			defer server.mu.Unlock()
			server.slots, server.nodes = slots, nodes
		}
		tells(server.slots, lostReply)
		client := open(t, Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: server.dial}}, []string{"a:1"}) // a server may not tell, and hang up
		require.False(t, client.topology.Load().Sure())
		tells(server.slots, fmt.Sprintf("$%d\r\n%s\r\n", len(nodes), nodes))
		require.NoError(t, client.Sync(t.Context()))
		require.True(t, client.topology.Load().Sure())
		tells(server.slots, lostReply)
		require.Error(t, client.Sync(t.Context()))
		require.True(t, client.topology.Load().Sure(), "a stranger would be admitted")
		tells("-ERR This instance has cluster support disabled\r\n", lostReply)
		require.Error(t, client.asker.question(t.Context(), "a:1", true).err, "it may be a replica")
	})
}

// TestSilentNodesAreAskedLast: the map of the slots is fetched elsewhere first.
func TestSilentNodesAreAskedLast(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	ctx := servers.Within(t, 20*time.Second)
	client := open(t, Config{RefreshEvery: -1}, e.Addrs())
	for _, key := range redistest.KeysInSlots(12, "asked") {
		require.NoError(t, client.do(ctx, "GET", key))
	}
	e.Nodes()[1].Close()
	require.Eventually(t, func() bool { return len(client.silentNodes()) == 1 }, 10*time.Second, time.Millisecond)
	for range 20 {
		addrs := client.candidates(client.topology.Load())
		require.ElementsMatch(t, e.Addrs(), addrs)
		require.Equal(t, e.Addrs()[1], addrs[2])
	}
}

// TestFailedAddrMapWithholds: if AddrMap fails for the addresses of a server or Sentinel, that
// one has answered, and may tell its map the next time: another cluster does not take its place.
func TestFailedAddrMapWithholds(t *testing.T) {
	for _, fails := range []string{"primary:1", "replica:1", "sentinel:1"} {
		q := asker{cfg: Config{Sentinel: &lanes.Dialer{}, AddrMap: func(addr string) string {
			if addr == fails {
				panic("no such host")
			}
			return addr
		}}}
		err := q.translateInstances(t.Context(), &slots.SentinelReply{
			Primary:  slots.Instance{Addr: "primary:1"},
			Replicas: []slots.Instance{{Addr: "replica:1"}}, Sentinels: []slots.Instance{{Addr: "sentinel:1"}},
		})
		require.ErrorContains(t, err, "Config.AddrMap panicked: no such host", fails)
		require.True(t, withholds(err), fails)
	}
}

// mapServer replies to CLUSTER SLOTS, the first command with arguments that it is sent.
type mapServer struct{ reply []byte }

func (s mapServer) dial(context.Context, string, string) (net.Conn, error) {
	ours, its := net.Pipe()
	go func() {
		defer its.Close()
		buf := make([]byte, 4096)
		for {
			n, err := its.Read(buf)
			if err != nil {
				return
			}
			for sent := range strings.Lines(string(buf[:n])) {
				switch strings.TrimSpace(sent) {
				case "PING", "READWRITE", "SETINFO", "MYID", "NODES":
					_, err = io.WriteString(its, "-ERR unknown command\r\n")
				case "SLOTS":
					_, err = its.Write(s.reply)
				}
				if err != nil {
					return
				}
			}
		}
	}()
	return ours, nil
}

// fragmented returns a map with a range for each slot, each with as many nodes. Their host
// names are almost as long as may be. Each is there twice: as the address, and as a hostname in the
// metadata.
func fragmented(nodes int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", slots.Count)
	for slot := range slots.Count {
		fmt.Fprintf(&b, "*%d\r\n:%d\r\n:%d\r\n", 2+nodes, slot, slot)
		for n := range nodes {
			host := fmt.Sprintf("node-%d-%d.%s", slot, n, strings.Repeat("long.", 47))
			fmt.Fprintf(&b, "*4\r\n$%d\r\n%s\r\n:6379\r\n$40\r\n%040d\r\n*2\r\n$8\r\nhostname\r\n$%d\r\n%s\r\n", len(host), host, slot, len(host), host)
		}
	}
	return b.Bytes()
}

// TestLargeMaps: a map with many ranges is read. One beyond the limit is refused, with an
// error that says what to do.
func TestLargeMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 18 MiB")
	}
	large := fragmented(2)
	require.Greater(t, len(large), 17<<20)
	synctest.Test(t, func(t *testing.T) {
		q := asker{cfg: Config{Dialer: lanes.Dialer{NetDial: mapServer{large}.dial, NoSetInfo: true}}}
		a := q.question(t.Context(), "a:1", false)
		require.NoError(t, a.err)
		q.cfg.Dialer.MaxReply = 1 << 20
		a = q.question(t.Context(), "a:1", false)
		require.ErrorIs(t, a.err, resp.ErrLimit)
		require.ErrorContains(t, a.err, "the limit")
		require.ErrorContains(t, a.err, "raise Dialer.MaxReply")
	})
}
