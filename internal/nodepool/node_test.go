package nodepool

import (
	"testing"
	"testing/synctest"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

// TestPoolsAreMadeWhenNeeded: a node with shared connections makes its other pools when
// they are needed and it takes batches; any other node has one pool for everything.
func TestPoolsAreMadeWhenNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		of   Config
		end  func(*Node)
		want int   // pools
		err  error // of who needs another one
	}{
		"laned":         {Laned{Lanes: 1}, func(*Node) {}, 3, nil},
		"no slow lanes": {Laned{Lanes: 1, SlowLanes: -1}, func(*Node) {}, 2, nil},
		"fixed":         {Fixed{Size: 2}, func(*Node) {}, 1, nil},
		"adaptive":      {Adaptive{Max: 2}, func(*Node) {}, 1, nil},
		"retired":       {Laned{Lanes: 1}, (*Node).Retire, 1, cause.ErrRetired},
		"closed":        {Laned{Lanes: 1}, func(n *Node) { _ = n.Close() }, 1, redislanes.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := New(c.of, simulatedServer(t, 0), "simulated:1", nil)
				require.NoError(t, err)
				defer n.Close()
				require.NoError(t, n.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.Len(t, n.pools(), 1)
				c.end(n)
				conn, err := n.Dedicate(t.Context())
				require.ErrorIs(t, err, c.err)
				if err == nil {
					conn.Return()
				}
				require.ErrorIs(t, slowly{n}.do(t.Context(), "INCR", "k"), c.err)
				require.Len(t, n.pools(), c.want)
			})
		})
	}
}
