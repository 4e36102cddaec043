package cluster_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest/sim"
)

// TestSlowDialsAreNoSilence: each dial takes long, since names are slow to look up. All connections
// are cut, and a call waits for a new one.
func TestSlowDialsAreNoSilence(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Fixed{Size: 4}, pool.Adaptive{}} {
		for _, late := range []time.Duration{700 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprintf("%T, %v", kind, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					redis := sim.Start(t, sim.Config{Primaries: 1, Replicas: -1})
					dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
						select {
						case <-time.After(late):
							return redis.Dial(ctx, network, addr)
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
					client := open(t, cluster.Config{Pool: kind, Dialer: lanes.Dialer{NetDial: dial}}, redis.Addrs())
					for range 3 {
						require.NoError(t, client.Do(soon(t, late+time.Second), radix.Cmd(nil, "SET", "k", "1")))
						time.Sleep(5 * time.Second)
						redis.Owner("k").Cut()
						time.Sleep(time.Millisecond)
					}
				})
			})
		}
	}
}
