package nodepool

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
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
		"laned":         {Laned{Lanes: 1}, func(*Node) {}, 2, nil},
		"no slow lanes": {Laned{Lanes: 1, SlowLanes: -1}, func(*Node) {}, 2, nil},
		"fixed":         {Fixed{Size: 2}, func(*Node) {}, 1, nil},
		"adaptive":      {Adaptive{Max: 2}, func(*Node) {}, 1, nil},
		"retired":       {Laned{Lanes: 1}, (*Node).Retire, 1, cause.ErrRetired},
		"closed":        {Laned{Lanes: 1}, func(n *Node) { _ = n.Close() }, 1, redislanes.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simulated(t, c.of, simulatedServer(t, 0))
				require.NoError(t, n.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.Len(t, n.pools(), 1)
				c.end(n)
				conn, err := n.Dedicate(t.Context())
				require.ErrorIs(t, err, c.err)
				if err == nil {
					conn.Return()
				}
				require.Len(t, n.pools(), c.want)
			})
		})
	}
}

// TestNil: a nil action or context ends in a sentence, and nothing is sent.
func TestNil(t *testing.T) {
	t.Parallel()
	var none context.Context
	for name, kind := range kinds {
		p, err := New(kind, lanes.Dialer{}, "127.0.0.1:1", nil)
		require.NoError(t, err)
		for want, do := range map[string]func() error{
			"action is nil":      func() error { return p.Do(t.Context(), nil) },
			"context is nil":     func() error { return p.Do(none, radix.Cmd(nil, "PING")) },
			"the context is nil": func() error { _, err := p.Dedicate(none); return err },
		} {
			err := do()
			require.ErrorContains(t, err, want, name)
			require.ErrorIs(t, err, redislanes.ErrNotSent, name)
		}
		require.NoError(t, p.Close())
	}
}
