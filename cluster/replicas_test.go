package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// Ways to read from the replicas of a slot.
var reads = map[string]func(ctx context.Context, client *cluster.Client, key string) (string, error){
	"DoSecondary": func(ctx context.Context, client *cluster.Client, key string) (from string, err error) {
		err = client.DoSecondary(ctx, radix.Cmd(&from, "GET", key))
		return from, err
	},
	"lent": func(ctx context.Context, client *cluster.Client, key string) (from string, err error) {
		err = client.DoSecondary(ctx, radix.Cmd(&from, "XREAD", "BLOCK", "1", "STREAMS", key, "0"))
		return from, err
	},
	"pipeline": func(ctx context.Context, client *cluster.Client, key string) (string, error) {
		p := pipeline.Config{Replicas: true}.New(client)
		first, second := p.Cmd("GET", key), p.Cmd("GET", key)
		if err := p.Do(ctx); err != nil {
			return "", err
		}
		if one, other := first.Node(), second.Node(); one != other {
			return "", fmt.Errorf("one slot, but read from %s and %s", one, other)
		}
		return first.Text()
	},
}

// TestAnotherReplicaBeforeThePrimary: a replica fails, and each read of its slots goes to
// the other one from the first on, until it is back. The primary is read from where no
// replica is left.
func TestAnotherReplicaBeforeThePrimary(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		for _, state := range []string{"dead", "LOADING", "MASTERDOWN"} {
			t.Run(name+" "+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					refuses := map[string]bool{}
					var w *world
					w = newWorld(func(addr string, cmd []string) string {
						w.mu.Lock()
						defer w.mu.Unlock()
						if refuses[addr] {
							return "-" + state + " not now\r\n"
						}
						return bulk(addr)
					})
					w.slots = mapOf(nodeA, nodeB, nodeC)
					client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
					from := func() string {
						got, err := read(soon(t, 200*time.Millisecond), client, "key")
						require.NoError(t, err)
						return got
					}
					fail := func(addr string, is bool) {
						w.set(func() {
							w.dead[addr], refuses[addr] = is && state == "dead", is && state != "dead"
						})
						time.Sleep(2 * time.Second) // the end of idle connections is noticed
					}
					usual := from()
					require.Contains(t, []string{nodeB, nodeC}, usual)
					other := map[string]string{nodeB: nodeC, nodeC: nodeB}[usual]
					fail(usual, true)
					for range 5 {
						require.Equal(t, other, from())
						time.Sleep(time.Second)
					}
					fail(other, true)
					for range 5 {
						require.Equal(t, nodeA, from())
						time.Sleep(time.Second)
					}
					fail(other, false)
					fail(usual, false)
					time.Sleep(time.Minute)
					for range 5 {
						require.Equal(t, usual, from(), "the same as long as it is up")
					}
				})
			})
		}
	}
}

// TestSilentReplica: it is given up in time for a read to be answered, and once it is
// suspect the other replica is asked at once.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(addr string, _ []string) string { return bulk(addr) })
				w.slots = mapOf(nodeA, nodeB, nodeC)
				client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
				usual, err := read(soon(t, time.Second), client, "key")
				require.NoError(t, err)
				w.set(func() { w.silent[usual] = true })
				if name == "pipeline" {
					p := pipeline.Config{Replicas: true}.New(client)
					p.Cmd("GET", "key")
					require.NoError(t, p.Do(soon(t, 200*time.Millisecond)))
					require.Equal(t, 2, p.Trips(), "the one that was given up counts")
				}
				for range 10 {
					_, _ = read(soon(t, 200*time.Millisecond), client, "key")
				}
				before := client.Stats()
				for range 5 {
					began := time.Now()
					got, err := read(soon(t, 200*time.Millisecond), client, "key")
					require.NoError(t, err)
					require.Contains(t, []string{nodeB, nodeC}, got)
					require.NotEqual(t, usual, got)
					require.Less(t, time.Since(began), 5*time.Millisecond)
				}
				if name != "lent" { // a pool's connections for lending know by themselves that they are down
					require.Equal(t, before.NotSent, client.Stats().NotSent, "it is not tried while it is down")
				}
			})
		})
	}
}

// TestWriteToReplicas: what only the primary may do goes there at once.
func TestWriteToReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := newWorld(func(addr string, cmd []string) string {
			asked = append(asked, addr)
			if addr != nodeA {
				return "-READONLY You can't write against a read only replica.\r\n"
			}
			return one
		})
		w.slots = mapOf(nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(nil, "INCR", "key")))
		require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(nil, "BLPOP", "key", "1")))
		require.Equal(t, []string{nodeA, nodeA}, asked)
		for _, line := range []string{"EVAL return 1 1 key", "EVAL return 1 0", "PUBLISH channel message"} {
			words := strings.Fields(line)
			require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(nil, words[0], words[1:]...)), line)
			p := pipeline.Config{Replicas: true}.New(client)
			p.Cmd(words[0], words[1:]...)
			require.NoError(t, p.Do(soon(t, time.Second)), line)
			transaction := radix.NewPipeline()
			transaction.Append(radix.Cmd(nil, "MULTI"))
			transaction.Append(radix.Cmd(nil, words[0], words[1:]...))
			transaction.Append(radix.Cmd(nil, "EXEC"))
			require.NoError(t, client.DoSecondary(soon(t, time.Second), transaction), line)
		}
		require.Equal(t, slices.Repeat([]string{nodeA}, 2+3*(2+3)), asked)
	})
}

// TestWritesBesideReads: with reads from replicas, the commands for a slot that is written to go to
// its primary and keep their order, also when they are sent again. Others go to replicas.
func TestWritesBesideReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refusals := 0
		w := newWorld(func(addr string, cmd []string) string {
			switch {
			case addr == nodeA && refusals > 0:
				refusals--
				return "-LOADING not now\r\n"
			case cmd[0] == "GET":
				return bulk(addr)
			case addr != nodeA:
				return fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot(cmd[1]), nodeA)
			}
			return one
		})
		w.slots = mapOf(nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		for _, group := range []cluster.Grouping{cluster.ByNode, cluster.BySlot} {
			refusals = 2
			p := pipeline.Config{Replicas: true, Group: group}.New(client)
			written, read, other := p.Cmd("INCR", "key"), p.Cmd("GET", "key"), p.Cmd("GET", "other")
			require.NoError(t, p.Do(soon(t, time.Second)))
			require.Equal(t, []string{nodeA, nodeA}, []string{written.Node(), read.Node()})
			require.NotEqual(t, nodeA, other.Node())
		}
		var n int
		var from string
		both := radix.NewPipeline()
		both.Append(radix.Cmd(&n, "INCR", "key"))
		both.Append(radix.Cmd(&from, "GET", "key"))
		require.NoError(t, client.DoSecondary(soon(t, time.Second), both))
		require.Equal(t, nodeA, from)
		require.Positive(t, n)
	})
}

// TestUnknownWriteToReplicas: when one replica says that it takes no writes, the primary is asked, and
// no other replica.
func TestUnknownWriteToReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := newWorld(func(addr string, cmd []string) string {
			switch {
			case cmd[0] == "COMMAND":
				return "-NOPERM User x has no permissions to run the 'command|info' command\r\n"
			case addr != nodeA:
				asked = append(asked, "replica")
				return "-READONLY You can't write against a read only replica.\r\n"
			}
			asked = append(asked, "primary")
			return one
		})
		w.slots = mapOf(nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(nil, "M.SET", "k", "v")))
		require.Equal(t, []string{"replica", "primary"}, asked)
		asked = nil
		p := pipeline.Config{Replicas: true}.New(client)
		p.Cmd("M.SET", "k", "v")
		require.NoError(t, p.Do(soon(t, time.Second)))
		require.Equal(t, []string{"replica", "primary"}, asked)
	})
}

// TestUnknownCommandsBesideReads: a command that no server describes goes to the primary with the
// other commands of its slot. Alone it goes to the replica, and then to the primary if it writes.
func TestUnknownCommandsBesideReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lines, from []string }{
		"a write before a read":        {[]string{"M.SET k v", "GET k"}, []string{nodeA, nodeA}},
		"a read before a write":        {[]string{"GET k", "M.SET k v"}, []string{nodeA, nodeA}},
		"two writes":                   {[]string{"M.SET k v", "M.SET k w"}, []string{nodeA, nodeA}},
		"a write alone":                {[]string{"M.SET k v"}, []string{nodeA}},
		"a read alone":                 {[]string{"M.GET k"}, []string{nodeB}},
		"a write beside another slot":  {[]string{"M.SET k v", "GET other"}, []string{nodeA, nodeB}},
		"a read and one without a key": {[]string{"M.GET k", "TIME", "TIME"}, []string{nodeB, nodeB, nodeB}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(addr string, cmd []string) string {
					switch {
					case cmd[0] == "COMMAND":
						return "-NOPERM User x has no permissions to run the 'command|info' command\r\n"
					case cmd[0] == "M.SET" && addr != nodeA:
						return fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot(cmd[1]), nodeA)
					}
					return bulk(addr)
				})
				w.slots = mapOf(nodeA, nodeB)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				p := pipeline.Config{Replicas: true}.New(client)
				both := radix.NewPipeline()
				received := make([]string, len(c.lines))
				var replies []pipeline.Reply
				for i, line := range c.lines {
					words := strings.Fields(line)
					replies = append(replies, p.Cmd(words[0], words[1:]...))
					both.Append(radix.Cmd(&received[i], words[0], words[1:]...))
				}
				require.NoError(t, p.Do(soon(t, time.Second)))
				for i, r := range replies {
					require.Equal(t, c.from[i], r.Node(), c.lines[i])
				}
				if !slices.Contains(c.lines, "GET other") { // else it is ErrCrossSlot
					require.NoError(t, client.DoSecondary(soon(t, time.Second), both))
				}
			})
		})
	}
}

// TestReplicaOfASlot: whatever else is in a pipeline, a slot is read from the same replica.
func TestReplicaOfASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, _ []string) string { return bulk(addr) })
		w.slots = mapOf(nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		usual := make(map[string]string)
		for i := range 20 {
			key := fmt.Sprint(i)
			var from string
			require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(&from, "GET", key)))
			usual[key] = from
		}
		p := pipeline.Config{Replicas: true}.New(client)
		for first := range usual {
			p.Reset()
			replies := map[string]pipeline.Reply{first: p.Cmd("GET", first)}
			for key := range usual {
				replies[key] = p.Cmd("GET", key)
			}
			require.NoError(t, p.Do(soon(t, time.Second)))
			for key, r := range replies {
				require.Equal(t, usual[key], r.Node(), key)
			}
			require.Equal(t, 2, p.Trips())
		}
	})
}

// TestSlowPrimaryWithoutReplicas: where no replica was asked, none is given up, and the
// primary is asked once.
func TestSlowPrimaryWithoutReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWorld(func(string, []string) string {
			asked++
			time.Sleep(150 * time.Millisecond)
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.DoSecondary(soon(t, 200*time.Millisecond), radix.Cmd(nil, "GET", "key")))
		require.Equal(t, 1, asked)
	})
}

// zonedMap is a reply to CLUSTER SLOTS of one shard whose nodes are in zones: pairs of
// address and zone.
func zonedMap(pairs ...string) string {
	nodes := ""
	for pair := range slices.Chunk(pairs, 2) {
		host, port, _ := net.SplitHostPort(pair[0])
		meta := "*-1\r\n"
		if pair[1] != "" {
			meta = "*2\r\n" + bulk("availability-zone") + bulk(pair[1])
		}
		nodes += "*4\r\n" + bulk(host) + ":" + port + "\r\n" + bulk("id-"+pair[0]) + meta
	}
	return fmt.Sprintf("*1\r\n*%d\r\n:0\r\n:16383\r\n%s", 2+len(pairs)/2, nodes)
}

// TestSilentReplicaBesideADeadOne: a read that falls to its primary, since no replica of its slot is
// left, does not keep another shard's silent replica from being given up.
func TestSilentReplicaBesideADeadOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodeD = "127.0.0.1:7004"
		w := newWorld(func(addr string, _ []string) string { return bulk(addr) })
		first := strings.Replace(mapOf(nodeA, nodeB)[len("*1\r\n"):], ":16383", ":8191", 1)
		second := strings.Replace(mapOf(nodeC, nodeD)[len("*1\r\n"):], ":0", ":8192", 1)
		w.slots = "*2\r\n" + first + second
		w.dead[nodeB], w.silent[nodeD] = true, true
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.Config{Replicas: true}.New(client)
		one, other := p.Cmd("GET", keyOf(0, 2)), p.Cmd("GET", keyOf(1, 2))
		require.NoError(t, p.Do(soon(t, 200*time.Millisecond)))
		require.Equal(t, []string{nodeA, nodeC}, []string{one.Node(), other.Node()})
	})
}

// TestZones: replicas in the client's zone are read from first, then the others, then the
// primary.
func TestZones(t *testing.T) {
	t.Parallel()
	told := zonedMap(nodeA, "a", nodeB, "b", nodeC, "c")
	for name, test := range map[string]struct {
		slots  string
		config cluster.Config
		from   []string // which nodes are read from
		then   string   // and which one when the first of these is dead
	}{
		"none":                         {told, cluster.Config{}, []string{nodeB, nodeC}, nodeC},
		"one replica is near":          {told, cluster.Config{Zone: "c"}, []string{nodeC}, nodeB},
		"only the primary is near":     {told, cluster.Config{Zone: "a"}, []string{nodeB, nodeC}, nodeC},
		"no node is near":              {told, cluster.Config{Zone: "d"}, []string{nodeB, nodeC}, nodeC},
		"both replicas are near":       {zonedMap(nodeA, "a", nodeB, "b", nodeC, "b"), cluster.Config{Zone: "b"}, []string{nodeB, nodeC}, nodeC},
		"the servers do not tell":      {zonedMap(nodeA, "", nodeB, "", nodeC, ""), cluster.Config{Zone: "c"}, []string{nodeB, nodeC}, nodeC},
		"the program knows":            {zonedMap(nodeA, "", nodeB, "", nodeC, ""), cluster.Config{Zone: "here", ZoneOf: zoneOfC("here")}, []string{nodeC}, nodeB},
		"the program knows better":     {zonedMap(nodeA, "", nodeB, "c", nodeC, "x"), cluster.Config{Zone: "c", ZoneOf: zoneOfC("c")}, []string{nodeB, nodeC}, nodeC},
		"the program does not know it": {told, cluster.Config{Zone: "c", ZoneOf: zoneOfC("")}, []string{nodeC}, nodeB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(addr string, _ []string) string { return bulk(addr) })
				w.slots = test.slots
				test.config.RefreshEvery, test.config.RetryWindow = -1, -1
				client := w.open(t, test.config)
				all := func() (from []string) {
					for _, key := range redistest.KeysInSlots(20, "zone") {
						var got string
						require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(&got, "GET", key)))
						from = append(from, got)
					}
					slices.Sort(from)
					return slices.Compact(from)
				}
				require.Equal(t, test.from, all())
				w.set(func() { w.dead[test.from[0]] = true })
				require.Equal(t, []string{test.then}, all())
				w.set(func() { w.dead[test.then] = true })
				require.Equal(t, []string{nodeA}, all())
			})
		})
	}
}

// zoneOfC is a Config.ZoneOf that knows the zone of node C only.
func zoneOfC(zone string) func(string) string {
	return func(addr string) string {
		if addr == nodeC {
			return zone
		}
		return ""
	}
}

// TestPanickingZoneOf: it costs the map that it was called for.
func TestPanickingZoneOf(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(w io.Writer, _ []string) bool { _, err := io.WriteString(w, one); return err == nil }
	f.start()
	panics := false
	client := open(t, cluster.Config{RefreshEvery: -1, Zone: "a", ZoneOf: func(string) string {
		if panics {
			panic("canary")
		}
		return "a"
	}}, []string{f.addr()})
	panics = true
	require.ErrorContains(t, client.Sync(within(t, 10*time.Second)), "Config.ZoneOf")
	require.NoError(t, client.Do(within(t, 10*time.Second), radix.Cmd(nil, "INCR", "k")))
}

// TestZonesOfValkey: its nodes tell their zones in CLUSTER SLOTS.
func TestZonesOfValkey(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(servers.Servers(t), func(path string) bool { return strings.HasPrefix(filepath.Base(path), "valkey") })
	if i < 0 {
		t.Skip("no Valkey: see " + servers.ServersEnv)
	}
	real := servers.StartCluster(t, servers.Options{Primaries: 1, Replicas: 2, Binary: servers.Servers(t)[i]})
	ctx := within(t, 30*time.Second)
	var replicas []string
	var told atomic.Bool
	plain := open(t, cluster.Config{}, real.Addrs())
	require.NoError(t, plain.Do(ctx, radix.Cmd(nil, "SET", "key", "1")))
	require.NoError(t, plain.ForEachReplica(ctx, func(ctx context.Context, node radix.Client) error {
		zone := "zone-" + node.Addr().String()
		if err := node.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "availability-zone", zone)); err != nil {
			return err
		}
		var slots any
		err := node.Do(ctx, radix.Cmd(&slots, "CLUSTER", "SLOTS"))
		if strings.Contains(fmt.Sprintf("%s", slots), zone) {
			told.Store(true)
		}
		return err
	}))
	if !told.Load() {
		t.Skip("CLUSTER SLOTS of this Valkey tells no zones, unlike that of 9.1")
	}
	sets, err := plain.Clients()
	require.NoError(t, err)
	for _, set := range sets {
		for _, node := range set.Secondaries {
			replicas = append(replicas, node.Addr().String())
		}
	}
	require.Len(t, replicas, 2)
	for _, addr := range replicas {
		client := open(t, cluster.Config{Zone: "zone-" + addr}, real.Addrs())
		until(t, ctx, "all nodes know the zone", func() bool {
			require.NoError(t, client.Sync(ctx))
			p := pipeline.Config{Replicas: true}.New(client)
			for _, key := range redistest.KeysInSlots(10, "zone") {
				p.Reset()
				r := p.Cmd("GET", key)
				require.NoError(t, p.Do(ctx))
				if r.Node() != addr {
					return false
				}
			}
			return true
		})
	}
}
