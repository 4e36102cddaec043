package cluster_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
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
		"none":                     {told, cluster.Config{}, []string{nodeB, nodeC}, nodeC},
		"one replica is near":      {told, cluster.Config{Near: in("c")}, []string{nodeC}, nodeB},
		"only the primary is near": {told, cluster.Config{Near: in("a")}, []string{nodeB, nodeC}, nodeC},
		"no node is near":          {told, cluster.Config{Near: in("d")}, []string{nodeB, nodeC}, nodeC},
		"both replicas are near":   {zonedMap(nodeA, "a", nodeB, "b", nodeC, "b"), cluster.Config{Near: in("b")}, []string{nodeB, nodeC}, nodeC},
		"the servers do not tell":  {zonedMap(nodeA, "", nodeB, "", nodeC, ""), cluster.Config{Near: in("c")}, []string{nodeB, nodeC}, nodeC},
		"the program knows":        {zonedMap(nodeA, "", nodeB, "", nodeC, ""), cluster.Config{Near: func(addr, _ string) bool { return addr == nodeC }}, []string{nodeC}, nodeB},
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

// in is a Config.Near by the zone that servers tell.
func in(zone string) func(_, told string) bool {
	return func(_, told string) bool { return told == zone }
}

// TestPanickingNear: it costs the map that it was called for.
func TestPanickingNear(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(w io.Writer, _ []string) bool { _, err := io.WriteString(w, one); return err == nil }
	f.start()
	panics := false
	client := open(t, cluster.Config{RefreshEvery: -1, Near: func(string, string) bool {
		if panics {
			panic("canary")
		}
		return true
	}}, []string{f.addr()})
	panics = true
	require.ErrorContains(t, client.Sync(within(t, 10*time.Second)), "Config.Near")
	require.NoError(t, client.Do(within(t, 10*time.Second), radix.Cmd(nil, "INCR", "k")))
}
