package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/redistest"
)

// TestPoolOfANodeThatHasLeft: a request with an old map may be the first that wants a pool of a node
// that has left. It is told so, and asks another node.
func TestPoolOfANodeThatHasLeft(t *testing.T) {
	t.Parallel()
	servers := redistest.StartEmulated(t, 1)
	client := open(t, Config{}, servers.Addrs())
	n := client.current().Nodes[0]
	n.leave()
	p := n.pool(asReplica)
	_, err := wire.Ask(t.Context(), p, []string{"GET", "k"}).Reply(0)
	require.ErrorIs(t, err, cause.ErrRetired)
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	const disabled, denied = "-ERR This instance has cluster support disabled\r\n", "-NOPERM this user has no permissions\r\n"
	id := func(s string) string { return "$4\r\n" + s + "\r\n" }
	for name, test := range map[string]struct {
		addr, id string
		refused  bool
	}{
		"the node":                    {"a:1", id("id-a"), false},
		"another node":                {"a:1", id("id-b"), true}, // a connection to it would outlive the mistake
		"a stranger":                  {"a:1", id("id-x"), true},
		"a stranger at a new address": {"x:1", id("id-x"), false}, // it may have joined
		"standalone":                  {"a:1", disabled, true},
		"standalone at a new address": {"x:1", disabled, true},
		"nothing may be asked":        {"a:1", denied, false},
		"no reply of that kind":       {"a:1", ":1\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(Config{}.withDefaults(), []string{"a:1"})
			v := slots.NewMap([]slots.Range{
				{First: 0, Last: 8191, Nodes: []slots.NodeAddr{{Addr: "a:1", ID: "id-a"}}},
				{First: 8192, Last: slots.Count - 1, Nodes: []slots.NodeAddr{{Addr: "b:1", ID: "id-b"}}},
			}, map[string]uint64{"id-a": 1, "id-b": 2}, "id-a")
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled)), "no map is in use")
			c.use(v)
			err := c.admit(asPrimary, test.addr, []byte(test.id))
			if test.refused {
				require.ErrorIs(t, err, redislanes.ErrWrongServer)
				return
			}
			require.NoError(t, err)
			c.use(slots.Single("a:1"))
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled)))
		})
	}
}

// TestDefaultSizes: more connections to each node of a cluster than to a server
// that stands alone, unless the size is set.
func TestDefaultSizes(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartEmulated(t, 3).Addrs()
	alone := servers.StartServer(t, servers.Options{}).Addrs()
	for _, c := range []struct {
		pool                 nodepool.Settings
		inCluster, forSingle int
	}{
		{nodepool.Settings{Kind: nodepool.KindAdaptive}, 50, 10},
		{nodepool.Settings{Kind: nodepool.KindAdaptive, Max: 7}, 7, 7},
		{nodepool.Settings{Kind: nodepool.KindAdaptive, Min: 1, Max: 50}, 50, 50},
		{nodepool.Settings{}, 4, 4},
	} {
		require.Equal(t, c.inCluster, poolSize(t, c.pool, nodes), "%+v", c.pool)
		require.Equal(t, c.forSingle, poolSize(t, c.pool, alone), "%+v", c.pool)
	}
}

// poolSize returns the size of the pool that the first command makes.
func poolSize(t *testing.T, p nodepool.Settings, addrs []string) int {
	ctx := servers.Within(t, 10*time.Second)
	client := open(t, Config{Pool: p}, addrs)
	require.NoError(t, client.do(ctx, "INCRBY", "hits", "1"))
	s := client.Stats()
	require.Len(t, s.Nodes, 1)
	return s.Nodes[0].Pool.Size
}
