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
	for _, n := range w.model.Nodes() {
		w.net.Listen(n.Addr(), w.model.Serve(n))
	}
	t.Cleanup(w.net.Close)
	w.client = w.join(t, "client")
	return w
}

// join returns a client whose connections come from the host.
func (w *world) join(t *testing.T, host string) *cluster.Client {
	t.Helper()
	var addrs []string
	for _, n := range w.model.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer(host)}, RefreshEvery: -1}.New(t.Context(), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}
