package pipeline_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// hitOnce hits a key with a time to live, and returns the total.
func (w *tower) hitOnce(t *testing.T, key string, by int64, ttl time.Duration) int64 {
	t.Helper()
	hits := []pipeline.Hit{{Key: key, By: by, TTL: ttl}}
	require.NoError(t, w.counters.Hit(within(t, 10*time.Second), hits))
	return hits[0].Total
}

// TestExpireIsSentOnce: a key that is known to have its time to live is not sent it
// again, and one that was deleted meanwhile is.
func TestExpireIsSentOnce(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	node := w.Nodes()[0]
	for i := range 100 {
		require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
	}
	require.Equal(t, 1, w.Calls(0, "SET"))
	require.Equal(t, 1, w.Calls(0, "PTTL"))
	require.Zero(t, w.Calls(0, "EXPIRE"))

	for i, by := range []int64{1, -3} {
		node.Del("k")
		require.Equal(t, by, w.hitOnce(t, "k", by, time.Hour))
		require.Equal(t, time.Hour, node.TTL("k"))
		require.Equal(t, 1+i, w.Calls(0, "EXPIRE"))
		w.hitOnce(t, "k", 1, time.Hour)
		require.Equal(t, 1, w.Calls(0, "SET"), "it is known again")
	}

	node.Del("k")
	w.hitOnce(t, "k", 1, 0)
	require.Zero(t, node.TTL("k"))
	w.hitOnce(t, "k", 1, time.Hour)
	require.Equal(t, time.Hour, node.TTL("k"), "the hit that made the key gave it none")

	before := w.Calls(0, "SET")
	w.hitOnce(t, "short", 1, 15*time.Millisecond)
	w.hitOnce(t, "short", 1, 15*time.Millisecond)
	require.Equal(t, before+2, w.Calls(0, "SET"), "it may have expired between two hits")
}

// TestRefusedKeyIsNotKnown: a hit that was refused says nothing about the next one.
func TestRefusedKeyIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"INCRBY", "SET and INCRBY"} {
		w := newTower(t, pipeline.CountersConfig{})
		var full atomic.Bool
		w.Inject(0, func(cmd string, _ []string) string {
			if strings.Contains(refused, cmd) && full.Load() {
				return "OOM command not allowed when used memory > 'maxmemory'."
			}
			return ""
		})
		full.Store(true)
		require.ErrorContains(t, w.counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}}), "OOM")
		full.Store(false)
		w.Nodes()[0].Del("k")
		_, err := w.Nodes()[0].Incr("k", 40) // somebody else's, who gives it no time to live
		require.NoError(t, err)
		w.hitOnce(t, "k", 2, time.Hour)
		require.Equal(t, time.Hour, w.Nodes()[0].TTL("k"), refused)
	}
}

// TestNewPrimaryIsSentExpire: what is known of a key at one node is not believed of
// another, to which its time to live may not have been replicated.
func TestNewPrimaryIsSentExpire(t *testing.T) {
	t.Parallel()
	w := newTowers(t, 2, pipeline.CountersConfig{})
	key := redistest.KeysInSlots(2, "moves")[0]
	slot := cluster.Slot(key)
	for i := range 6 {
		w.hitOnce(t, key, 1, time.Hour)
		from := w.Owner(slot)
		to := w.Nodes()[1-from]
		w.Move(slot, 1-from)
		require.NoError(t, to.Set(key, strconv.Itoa(2*i+1))) // without a time to live
		require.EqualValues(t, 2*(i+1), w.hitOnce(t, key, 1, time.Hour))
		require.Equal(t, time.Hour, to.TTL(key))
	}
}

// requests counts the requests of a client.
type requests struct{ atomic.Int64 }

func (r *requests) trace() *redislanes.Trace {
	return &redislanes.Trace{EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { r.Add(1) }}
}

// TestLooksTakeOneTrip: a key that is at 0 looks to a hit which adds nothing as if it
// had not been there. What is about its time to live goes along each time, and not behind it.
func TestLooksTakeOneTrip(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	var sent requests
	counters := pipeline.NewCounters(open(t, cluster.Config{Trace: sent.trace()}, e.Addrs()), pipeline.CountersConfig{})
	w := &tower{Emulated: e, counters: counters}
	for i := range 10 {
		require.Zero(t, w.hitOnce(t, "k", 0, time.Hour))
		require.Equal(t, time.Hour, e.Nodes()[0].TTL("k"))
		require.EqualValues(t, i+1, sent.Load())
	}
	for i := range 10 {
		require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
		require.EqualValues(t, i+1, w.hitOnce(t, "k", 0, time.Hour))
		require.EqualValues(t, 10+2*(i+1), sent.Load())
	}
	require.NoError(t, counters.Close())
}
