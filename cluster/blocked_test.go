package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// blockers keep a connection for as long as they like.
var blockers = map[string]func() radix.Action{
	"BLPOP":     func() radix.Action { return radix.Cmd(nil, "BLPOP", "list{k}", "30") },
	"subscribe": func() radix.Action { return radix.WithConn("k", subscribeFor30s) },
	"nobody":    nil,
}

func subscribeFor30s(ctx context.Context, conn radix.Conn) error {
	if err := subscribe(ctx, conn); err != nil {
		return err
	}
	time.Sleep(30 * time.Second)
	return nil
}

// TestRefusedDialsBesideBlockedConnections: the only connections that are left are in use by
// commands and subscribers that wait for data, and the server refuses others, as without room for
// more clients. Calls fail as they do if no connection is left, also without a deadline. When such
// a connection is returned, it serves the next call.
func TestRefusedDialsBesideBlockedConnections(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Adaptive{}} {
		for name, blocks := range blockers {
			t.Run(fmt.Sprintf("%T, %s", kind, name), func(t *testing.T) {
				if _, laned := kind.(pool.Laned); blocks == nil && !laned {
					t.Skip("there is a connection")
				}
				synctest.Test(t, func(t *testing.T) {
					e := newEndless(t, cluster.Config{Pool: kind})
					blocked := make(chan struct{})
					go func() {
						defer close(blocked)
						if blocks != nil {
							_ = e.Do(e.ctx, blocks())
						}
					}()
					time.Sleep(time.Second)
					e.owner.RefuseDials()
					call := func() (took time.Duration, err error) {
						began := time.Now()
						err = e.Do(e.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
							return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
						}))
						return time.Since(began), err
					}
					took, err := call()
					require.ErrorIs(t, err, redislanes.ErrDown)
					require.ErrorContains(t, err, "connection refused")
					require.InDelta(t, 1, took.Seconds(), 0.1)
					took, err = call()
					require.ErrorIs(t, err, redislanes.ErrDown)
					require.Less(t, took, 5*time.Millisecond)
					if <-blocked; blocks != nil {
						_, err = call()
						require.NoError(t, err, "over the connection that was returned")
					}
				})
			})
		}
	}
}

// TestWaitErrorNamesTheRefusedDial: a call waits for a connection that a user has, since the server
// refuses others. Its error says why there is no other.
func TestWaitErrorNamesTheRefusedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndless(t, cluster.Config{})
		err := e.Do(e.ctx, radix.WithConn("k", func(context.Context, radix.Conn) error {
			e.owner.RefuseDials()
			return e.Do(soon(t, 100*time.Millisecond), radix.Cmd(nil, "BLPOP", "list{k}", "1"))
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.NotErrorIs(t, err, redislanes.ErrDown)
		require.ErrorContains(t, err, "1 of 50 in use, the last dial failed (")
		require.ErrorContains(t, err, "connection refused), 1 waiting")
	})
}
