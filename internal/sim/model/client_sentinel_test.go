package model_test

import (
	"context"
	"net"
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

var sentinels = []string{"10.0.0.101:26379", "10.0.0.102:26379", "10.0.0.103:26379"}

// watched returns servers without cluster mode that Sentinels watch.
func watched(network *simnet.Network) *model.Cluster {
	c := model.New(model.Options{Primaries: 1, Replicas: 2, NoCluster: true, Sentinels: sentinels})
	c.GossipLag(100 * time.Millisecond)
	for _, n := range c.Nodes() {
		network.Listen(n.Addr(), c.Serve(n))
	}
	for _, s := range c.Sentinels() {
		network.Listen(s.Addr(), s.Serve)
	}
	return c
}

// A stubborn connection does not end when it is closed, but when the test does.
type stubborn struct {
	net.Conn
	release <-chan struct{}
}

func (c stubborn) Close() error {
	<-c.release
	return c.Conn.Close()
}

// TestPrimaryBeforeItsConnectionEnds: one Sentinel is asked for the primary, and the primary
// for its role. Neither connection has to end before the next question.
func TestPrimaryBeforeItsConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(1)
		defer network.Close()
		watched(network)
		release := make(chan struct{})
		defer close(release)
		dial := network.Dialer("client")
		dialer := lanes.Dialer{NetDial: func(ctx context.Context, to, addr string) (net.Conn, error) {
			conn, err := dial(ctx, to, addr)
			return stubborn{conn, release}, err
		}}
		client, err := cluster.Config{
			Dialer: dialer, Sentinel: &cluster.Sentinel{Primary: model.SentinelPrimary, Dialer: dialer}, RefreshEvery: -1,
		}.New(t.Context(), sentinels)
		require.NoError(t, err)
		defer client.Close()
		began, dials := time.Now(), len(network.Dials())
		require.NoError(t, client.Sync(t.Context()))
		require.Less(t, time.Since(began), 100*time.Millisecond)
		require.Len(t, network.Dials(), dials+2)
	})
}

// TestDemotedPrimary: after a failover a client of Sentinels leaves the old primary
// alone, which is a replica.
func TestDemotedPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(1)
		defer network.Close()
		c := watched(network)
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
