package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

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
			p.Cmd(words[0], anys(words[1:])...)
			require.NoError(t, p.Do(soon(t, time.Second)), line)
			transaction := radixPipeline(radix.Cmd(nil, "MULTI"), radix.Cmd(nil, words[0], words[1:]...), radix.Cmd(nil, "EXEC"))
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
		both := radixPipeline(radix.Cmd(&n, "INCR", "key"), radix.Cmd(&from, "GET", "key"))
		require.NoError(t, client.DoSecondary(soon(t, time.Second), both))
		require.Equal(t, nodeA, from)
		require.Positive(t, n)
	})
}

// TestPipelineFromReplicas: reads go to replicas, and a write to its primary.
func TestPipelineFromReplicas(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	ctx := within(t, 20*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.Config{Replicas: true}.New(client)
	written := p.Cmd("SET", "key", "1")
	require.NoError(t, p.Do(ctx))
	require.Equal(t, client.Primary(cluster.Slot("key")), written.Node())
	until(t, ctx, "the replica has the key", func() bool {
		p.Reset()
		r := p.Cmd("GET", "key")
		require.NoError(t, p.Do(ctx))
		require.NotEqual(t, client.Primary(cluster.Slot("key")), r.Node())
		value, err := r.Text()
		return err == nil && value == "1"
	})
}
