package model_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// TestDemotedPrimary: after a failover a client of Sentinels leaves the old primary
// alone, which is a replica.
func TestDemotedPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(1)
		defer network.Close()
		sentinels := []string{"10.0.0.101:26379", "10.0.0.102:26379", "10.0.0.103:26379"}
		c := model.New(model.Options{Primaries: 1, Replicas: 2, NoCluster: true, Sentinels: sentinels})
		c.GossipLag(100 * time.Millisecond)
		for _, n := range c.Nodes() {
			network.Listen(n.Addr(), c.Serve(n))
		}
		for _, s := range c.Sentinels() {
			network.Listen(s.Addr(), s.Serve)
		}
		dialer := lanes.Dialer{NetDial: network.Dialer("client")}
		client, err := cluster.Config{
			Dialer: dialer, Sentinel: &cluster.Sentinel{Primary: model.SentinelPrimary, Dialer: dialer}, RefreshEvery: -1,
		}.New(t.Context(), sentinels)
		require.NoError(t, err)
		defer client.Close()
		incr := func() {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "a")))
		}
		incr()
		for _, primary := range []int{1, 0, 2} {
			require.True(t, c.Failover(c.Nodes()[primary], false))
			time.Sleep(time.Second)
			incr() // finds out
			time.Sleep(time.Minute)
			require.Equal(t, c.Nodes()[primary].Addr(), client.Primary(0))
			incr()

			before, dials := client.Stats(), len(network.Dials())
			time.Sleep(time.Hour)
			incr()
			after := client.Stats()
			require.Equal(t, before.Refreshes+before.RefreshErrors, after.Refreshes+after.RefreshErrors, "refreshes in an hour")
			require.Len(t, network.Dials(), dials)
			require.Len(t, after.Nodes, 1)
		}
	})
}
