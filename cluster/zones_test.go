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

// zonedMap is a reply to CLUSTER SLOTS of one shard. Its nodes are given as
// pairs of address and zone.
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
