package places

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// A world is a Redis Cluster in memory, whose time is that of a synctest bubble.
type world struct {
	net    *simnet.Network
	model  *model.Cluster
	client *cluster.Client
}

// newWorld makes three primaries, half a millisecond away, and a client.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{net: simnet.New(1), model: model.New(model.Options{Seed: 1, Primaries: 3})}
	w.net.Impose("", "", simnet.Conditions{Latency: 250 * time.Microsecond})
	var addrs []string
	for _, n := range w.model.Nodes() {
		w.net.Listen(n.Addr(), w.model.Serve(n))
		addrs = append(addrs, n.Addr())
	}
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, RefreshEvery: -1}.New(t.Context(), addrs)
	require.NoError(t, err)
	w.client = client
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		w.net.Close()
	})
	return w
}
