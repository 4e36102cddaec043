package model_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// TestDeadNodeBehindMoved: a client that may not ask for the map of the slots remembers
// that a node is dead to which MOVED sends it.
func TestDeadNodeBehindMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(1)
		defer network.Close()
		c := model.New(model.Options{Primaries: 3})
		for _, n := range c.Nodes() {
			network.Listen(n.Addr(), c.Serve(n))
		}
		client, err := cluster.Config{
			Dialer: lanes.Dialer{NetDial: network.Dialer("client")}, Standalone: true,
		}.New(t.Context(), []string{c.Nodes()[0].Addr()})
		require.NoError(t, err)
		defer client.Close()
		const key = "a" // which is the last node's
		incr := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := client.Do(ctx, radix.Cmd(nil, "INCR", key))
			return time.Since(began), err
		}
		owner := c.Owner(model.Slot([]byte(key)))
		require.Equal(t, c.Nodes()[2], owner)
		_, err = incr()
		require.NoError(t, err)

		heal := network.Impose("client", owner.Addr(), simnet.Conditions{Partition: simnet.Both})
		for range 5 { // until it is known
			_, err = incr()
			require.Error(t, err)
			time.Sleep(time.Second)
		}
		for range 20 {
			took, err := incr()
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			require.Less(t, took, 10*time.Millisecond)
			time.Sleep(3 * time.Second)
		}
		heal()
		time.Sleep(5 * time.Second)
		_, err = incr()
		require.NoError(t, err)
	})
}
