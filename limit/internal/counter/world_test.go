package counter_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	simulated "github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// TestEmulated: the servers in memory with which users test do the same.
func TestEmulated(t *testing.T) {
	t.Parallel()
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	runModel(t, &rig{t: t, client: client}, 6)
}

// TestSimulated: so do the simulator's.
func TestSimulated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net, servers := simnet.New(1), simulated.New(simulated.Options{Seed: 1, Primaries: 3})
		defer net.Close()
		net.Impose("", "", simnet.Conditions{Latency: 250 * time.Microsecond})
		for _, n := range servers.Nodes() {
			net.Listen(n.Addr(), servers.Serve(n))
		}
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: net.Dialer("client")}, RefreshEvery: -1}.New(t.Context(), []string{servers.Nodes()[0].Addr()})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		runModel(t, &rig{t: t, client: client}, 6)
	})
}
