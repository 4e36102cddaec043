package engine

import (
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/redistest"
)

// TestPoolOfANodeThatHasLeft: a request with an old map may be the first that wants a pool of a node
// that has left. It is told so, and asks another node.
func TestPoolOfANodeThatHasLeft(t *testing.T) {
	t.Parallel()
	servers := redistest.StartEmulated(t, 1)
	client, err := Config{}.New(t.Context(), servers.Addrs())
	require.NoError(t, err)
	defer client.Close()
	n := client.current().Nodes[0]
	n.retire()
	n.close()
	p, used, closed := n.storePool(asReplica, nil)
	require.Equal(t, []bool{false, true}, []bool{used, closed})
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Do(t.Context(), radix.Cmd(nil, "GET", "k")), cause.ErrRetired)
}
