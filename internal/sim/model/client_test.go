package model_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// The library takes the model for a cluster.
func TestClient(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(1)
			executed := 0
			c := model.New(model.Options{Primaries: 3, Replicas: 1, Executed: func(model.Execution) { executed++ }})
			for _, n := range c.Nodes() {
				network.Listen(n.Addr(), c.Serve(n))
			}
			ctx := context.Background()
			client, err := cluster.Config{
				Dialer: lanes.Dialer{NetDial: network.Dialer("client"), Protocol: protocol},
			}.New(ctx, []string{c.Nodes()[0].Addr()})
			require.NoError(t, err)
			for range 10 {
				p := pipeline.New(client)
				for _, key := range []string{"a", "b", "c", "d", "e"} {
					p.IncrBy(key, 2)
					p.ExpireNX(key, time.Minute)
				}
				require.NoError(t, p.Do(ctx))
				time.Sleep(time.Second)
				require.True(t, c.Failover(c.Nodes()[3], false) || c.Failover(c.Nodes()[0], false))
			}
			value, ok := c.Value("a")
			require.True(t, ok)
			require.Equal(t, "20", value)
			require.GreaterOrEqual(t, executed, 100)
			client.Close()
			network.Close()
		})
	}
}
