package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest/sim"
)

// A malady is what a server has for a while.
type malady struct {
	name string
	text string // the error reply; "" stands for a connection that is refused
	slot bool   // only the slot is refused
	own  bool   // it is about one command: each has a window of its own
}

var maladies = []malady{
	{name: "CLUSTERDOWN", text: "CLUSTERDOWN The cluster is down"},
	{name: "slot not served", text: "CLUSTERDOWN Hash slot not served", slot: true},
	{name: "LOADING", text: "LOADING Redis is loading the dataset in memory"},
	{name: "MASTERDOWN", text: "MASTERDOWN Link with MASTER is down"},
	{name: "READONLY", text: "READONLY You can't write against a read only replica."},
	{name: "NOREPLICAS", text: "NOREPLICAS Not enough good replicas to write."},
	{name: "TRYAGAIN", text: "TRYAGAIN Multiple keys request during rehashing of slot", slot: true, own: true},
	{name: "refused connections"},
}

// sick returns a world of two nodes of which the first has the malady from the
// start; the second one, of which the slots of B are, is well.
func (m malady) sick() (w *world, ill *atomic.Bool) {
	ill = new(atomic.Bool)
	ill.Store(true)
	w = newWorld(func(addr string, _ []string) string {
		if addr == nodeA && ill.Load() {
			return "-" + m.text + "\r\n"
		}
		return one
	}, nodeA, nodeB)
	if m.text == "" {
		ill.Store(false)
	}
	return w, ill
}

// A sickbed is a client's view of a world with a malady, which is there from the
// start.
type sickbed struct {
	malady
	*world
	ill    *atomic.Bool
	client *cluster.Client
	p      *pipeline.Pipeline
}

func (m malady) bed(t *testing.T) *sickbed {
	w, ill := m.sick()
	client := w.open(t, cluster.Config{RefreshEvery: -1})
	b := &sickbed{m, w, ill, client, pipeline.New(client)}
	b.set(true)
	return b
}

// set makes the node sick, or well.
func (b *sickbed) set(sick bool) {
	b.ill.Store(sick && b.text != "")
	b.world.set(func() { b.dead[nodeA] = sick && b.text == "" })
}

// call counts a key of the sick node and one of the other in one pipeline.
func (b *sickbed) call(t *testing.T) (took time.Duration, bad, good error) {
	b.p.Reset()
	count, other := b.p.IncrBy(keyOf(0, 2), 1), b.p.IncrBy(keyOf(1, 2), 1)
	began := time.Now()
	_ = b.p.Do(soon(t, 3*time.Second))
	return time.Since(began), count.Err(), other.Err()
}

// failsAtOnce makes a call after the window.
func (b *sickbed) failsAtOnce(t *testing.T) {
	tries := b.client.Stats().Refused + b.client.Stats().NotSent
	took, bad, good := b.call(t)
	require.NoError(t, good)
	require.Less(t, took, 5*time.Millisecond)
	var tried *cause.Tried
	require.ErrorAs(t, bad, &tried)
	require.Equal(t, 1, tried.Tries)
	where := "node " + nodeA
	if b.slot {
		where = fmt.Sprint("slot ", cluster.Slot(keyOf(0, 2)))
	}
	require.Equal(t, where, tried.Where)
	require.Greater(t, tried.For, time.Second)
	require.Equal(t, tries, b.client.Stats().Refused+b.client.Stats().NotSent, "nothing is sent again")
	if b.text == "" {
		require.ErrorIs(t, bad, redislanes.ErrNotSent)
	} else {
		require.ErrorIs(t, bad, redislanes.ErrRefused)
		require.ErrorContains(t, bad, strings.Fields(b.text)[0])
	}
}

// TestDeadForGood: when a node or a slot has refused for longer than the window, each call tries once and
// fails at once, with an error that says how long it has been so. TRYAGAIN is about one command, which has a
// window of its own. Other nodes are not concerned, and after a success there is a new window.
func TestDeadForGood(t *testing.T) {
	for _, m := range maladies {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := m.bed(t)
				took, bad, good := b.call(t)
				require.NoError(t, good)
				require.Error(t, bad)
				require.InDelta(t, 1, took.Seconds(), 0.1)
				var tried *cause.Tried
				require.ErrorAs(t, bad, &tried)
				require.Greater(t, tried.Tries, 5)
				require.ErrorContains(t, bad, fmt.Sprintf("after %d tries in 1.", tried.Tries))
				for range 20 {
					time.Sleep(100 * time.Millisecond)
					if !m.own {
						b.failsAtOnce(t)
						continue
					}
					took, bad, good = b.call(t)
					require.NoError(t, good)
					require.ErrorContains(t, bad, fmt.Sprint("slot ", cluster.Slot(keyOf(0, 2)), " unavailable for 1."))
					require.InDelta(t, 1, took.Seconds(), 0.1, "each call has a window of its own")
				}

				b.set(false)
				time.Sleep(5 * time.Second) // the pool dials again, and what has refused is still remembered
				_, bad, _ = b.call(t)
				require.NoError(t, bad)
				b.set(true)
				time.Sleep(time.Millisecond)
				time.AfterFunc(500*time.Millisecond, func() { b.set(false) })
				_, bad, _ = b.call(t)
				require.NoError(t, bad, "a new outage has a window of its own")
			})
		})
	}
}

// TestRetryWindowSettings: without one each call tries once; with one as long as the
// context, it tries until then.
func TestRetryWindowSettings(t *testing.T) {
	for _, m := range maladies {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := m.sick()
				none := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
				long := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: cluster.WhileContextLasts})
				w.set(func() { w.dead[nodeA] = m.text == "" })
				began := time.Now()
				call := func(client *cluster.Client) error {
					return client.Do(soon(t, 5*time.Second), radix.Cmd(nil, "INCR", keyOf(0, 2)))
				}
				require.Error(t, call(none))
				require.Less(t, time.Since(began), 5*time.Millisecond)
				require.Zero(t, none.Stats().Refused+none.Stats().NotSent)
				began = time.Now()
				require.ErrorContains(t, call(long), "tries in ")
				require.Equal(t, 5*time.Second, time.Since(began).Round(10*time.Millisecond))
			})
		})
	}
}

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
			return client.Do(ctx, dedicatedCmd("k", "INCR", "k"))
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
					client := open(t, cluster.Config{
						Dialer: lanes.Dialer{NetDial: redis.Dial},
						Trace:  &redislanes.Trace{TopologyChanged: func([]string, []string, int) { known.Store(time.Now().UnixNano()) }},
					}, redis.Addrs())
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
