package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest/sim"
)

// TestRetriedWhenTheMapChanges: commands that wait for a dead primary are sent again as soon as the client
// knows that a replica has taken over, and not only after the rest of their wait.
func TestRetriedWhenTheMapChanges(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, client *cluster.Client) error{
		"Do": func(ctx context.Context, client *cluster.Client) error {
			return client.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		},
		"a pipeline": func(ctx context.Context, client *cluster.Client) error {
			p := pipeline.New(client)
			p.IncrBy("other", 1)
			p.IncrBy("k", 1)
			return p.Do(ctx)
		},
		"WithConn": func(ctx context.Context, client *cluster.Client) error {
			return client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
			}))
		},
		"a blocking command": func(ctx context.Context, client *cluster.Client) error {
			return client.Do(ctx, radix.Cmd(nil, "BLPOP", "list{k}", "0.001"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) { // waits are random
				synctest.Test(t, func(t *testing.T) {
					redis := sim.Start(t, sim.Config{Seed: seed})
					var known atomic.Int64
					owner := redis.Owner("k")
					client, err := cluster.Config{
						Dialer: lanes.Dialer{NetDial: redis.Dial},
						Trace:  &redislanes.Trace{TopologyChanged: func(redislanes.TopologyChange) { known.Store(time.Now().UnixNano()) }},
					}.New(t.Context(), redis.Addrs())
					require.NoError(t, err)
					defer client.Close()
					require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
					owner.Kill()
					time.AfterFunc(300*time.Millisecond, func() { owner.Failover() })
					time.Sleep(time.Millisecond) // until the client has seen its connections end
					known.Store(0)
					require.NoError(t, call(soon(t, 5*time.Second), client))
					require.Less(t, time.Since(time.Unix(0, known.Load())), 10*time.Millisecond)
				})
			}
		})
	}
}
