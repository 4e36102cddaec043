package pipeline_test

import (
	"context"
	"strings"
	"sync"
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
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A tower has counters, and a network that holds up commands or replies of a node. It works
// in a bubble of package synctest. No time passes while the test's goroutine runs or
// waits in [synctest.Wait]: a held connection does not look silent to the client.
type tower struct {
	*model.Cluster
	net      *simnet.Network
	counters *pipeline.Counters
	others   *cluster.Client // another program's; nothing holds it up

	mu       sync.Mutex // guards what follows
	requests int
	calls    map[*model.Node]map[string]int
}

const (
	toServer = simnet.ToServer
	toClient = simnet.ToClient
)

// newTower returns a tower for several nodes. Its client is connected to them.
func newTower(t *testing.T, nodes int, c pipeline.CountersConfig) *tower {
	w := &tower{Cluster: model.New(model.Options{Primaries: nodes}), net: simnet.New(1), calls: make(map[*model.Node]map[string]int)}
	t.Cleanup(w.net.Close)
	for _, node := range w.Nodes() {
		w.calls[node] = make(map[string]int)
		w.net.Listen(node.Addr(), w.Serve(node))
		node.Interpose(func(args [][]byte, reply []byte, _ int) []byte {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls[node][strings.ToUpper(string(args[0]))]++
			return reply
		})
	}
	addrs := []string{w.Nodes()[0].Addr()}
	w.others = open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("others")}}, addrs)
	trace := &redislanes.Trace{EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests++
	}}
	client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, Pool: pool.Laned{Lanes: 1}, Trace: trace}, addrs)
	w.counters = c.New(client)
	t.Cleanup(func() { require.NoError(t, w.counters.Close()) })
	for _, key := range redistest.KeysInSlots(nodes, "warm") {
		require.NoError(t, w.counters.Hit(t.Context(), []pipeline.Hit{{Key: key, By: 1}}))
	}
	return w
}

// Calls returns how often the node was sent the command, by anybody.
func (w *tower) Calls(node int, command string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[w.Nodes()[node]][command]
}

// Requests returns how many requests the client has made.
func (w *tower) Requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// refuse makes node 0 refuse the commands so many times; 0 stands for every time. The text ""
// ends it.
func (w *tower) refuse(text model.Refusal, times int, commands ...string) {
	for _, command := range commands {
		w.Nodes()[0].Refuse(strings.ToLower(command), text, times)
	}
}

// do has the other program run a command.
func (w *tower) do(t *testing.T, command string, args ...string) {
	t.Helper()
	require.NoError(t, w.others.Do(t.Context(), radix.Cmd(nil, command, args...)))
}

// ttl returns the key's time to live; 0: it has none.
func (w *tower) ttl(key string) time.Duration {
	left, _ := w.TTL(key)
	return max(left, 0)
}

// stall holds up what travels between the client and the node, until it flows again.
func (w *tower) stall(node int, way simnet.Way) (flow func()) {
	return w.net.Impose("client", w.Nodes()[node].Addr(), simnet.Conditions{Stall: way})
}

// hit makes a call of one hit.
func (w *tower) hit(ctx context.Context, h *pipeline.Hit) chan error {
	return w.call(ctx, h, *h)
}

// call makes a call, of which h becomes the first hit. It returns when all goroutines wait.
func (w *tower) call(ctx context.Context, h *pipeline.Hit, hits ...pipeline.Hit) chan error {
	done := make(chan error, 1)
	go func() {
		err := w.counters.Hit(ctx, hits)
		*h = hits[0]
		done <- err
	}()
	synctest.Wait()
	return done
}

// hold has a hit be executed, and its reply not arrive. Looks on its key are held up, too: as many as travel
// alone, and one that others wait behind.
func (w *tower) hold(t *testing.T, h *pipeline.Hit) (done chan error, flow func()) {
	t.Helper()
	before := w.Calls(0, "INCRBY")
	flow = w.stall(0, toClient)
	done = w.hit(within(t, 20*time.Second), h)
	for range alone {
		w.hit(within(t, 20*time.Second), &pipeline.Hit{Key: h.Key, Look: true})
	}
	require.Equal(t, before+alone+1, w.Calls(0, "INCRBY"))
	require.Zero(t, w.counters.Waiting(h.Key))
	return done, flow
}

// alone is how many hits of calls of one hit travel in pipelines of their own.
const alone = 4

// gather lets hits wait for the INCRBY that is held up, one after the other.
func (w *tower) gather(t *testing.T, hits []pipeline.Hit) (done []chan error) {
	t.Helper()
	for i := range hits {
		waiting := w.counters.Waiting(hits[i].Key)
		done = append(done, w.hit(within(t, 20*time.Second), &hits[i]))
		require.Equal(t, waiting+1, w.counters.Waiting(hits[i].Key))
	}
	return done
}

// hitOnce hits a key with a time to live, and returns the total. A hit of 0 looks.
func (w *tower) hitOnce(t *testing.T, key string, by int64, ttl time.Duration) int64 {
	t.Helper()
	hits := []pipeline.Hit{{Key: key, By: by, Look: by == 0, TTL: ttl}}
	require.NoError(t, w.counters.Hit(within(t, 20*time.Second), hits))
	return hits[0].Total
}

// keyOn returns a key of the node.
func keyOn(w *tower, node int, prefix string) string {
	slot := uint16(0)
	for w.Owner(slot) != w.Nodes()[node] {
		slot++
	}
	return redistest.KeyInSlot(slot, prefix)
}
