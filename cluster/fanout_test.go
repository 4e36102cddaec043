package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// TestSequentialDeadline: the first of two nodes is silent. At the context's end
// its command has an unknown outcome, that for the other was not sent, and nothing
// of both is left for the pipeline's next commands.
func TestSequentialDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(1, 2))))
		w.set(func() { w.silent[nodeA] = true })
		p := pipeline.Config{Sequential: true}.New(client)
		silent, other := p.IncrBy(keyOf(0, 2), 1), p.IncrBy(keyOf(1, 2), 1)
		require.Error(t, p.Do(soon(t, 50*time.Millisecond)))
		require.ErrorIs(t, silent.Err(), redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, other.Err(), redislanes.ErrNotSent)

		w.set(func() { w.silent[nodeA] = false })
		p.Reset()
		again := p.IncrBy(keyOf(1, 2), 1)
		require.NoError(t, p.Do(soon(t, time.Second)))
		total, err := again.Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, total)
	})
}
