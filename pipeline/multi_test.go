package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestMulti compares the helpers with a map.
func TestMulti(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	var pairs, keys []string
	for i := range 300 {
		pairs = append(pairs, fmt.Sprintf("multi{%d}%d", i%50, i), fmt.Sprint(i))
		keys = append(keys, pairs[2*i])
	}
	require.NoError(t, pipeline.MSet(ctx, client, pairs...))
	require.Equal(t, 50, calls(e, "MSET"), "one for each slot")
	absent := []string{"absent", keys[7], "absent too", keys[7]}
	values, err := pipeline.MGet(ctx, client, append(absent, keys...)...)
	require.NoError(t, err)
	require.Equal(t, [][]byte{nil, []byte("7"), nil, []byte("7")}, values[:4])
	for i := range keys {
		require.Equal(t, fmt.Sprint(i), string(values[4+i]))
	}
	n, err := pipeline.Exists(ctx, client, append(absent, keys...)...)
	require.NoError(t, err)
	require.EqualValues(t, 302, n)
	n, err = pipeline.Del(ctx, client, append(absent, keys[:100]...)...)
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	n, err = pipeline.Unlink(ctx, client, keys...)
	require.NoError(t, err)
	require.EqualValues(t, 200, n)
	values, err = pipeline.MGet(ctx, client)
	require.NoError(t, err)
	require.Empty(t, values)
}

// TestMultiFails: what succeeded is returned with the error.
func TestMultiFails(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	keys := redistest.KeysInSlots(9, "multi")
	for _, key := range keys {
		require.NoError(t, pipeline.MSet(ctx, client, key, key))
	}
	broken := e.Owner(cluster.Slot(keys[0]))
	e.Inject(broken, func(cmd string, _ []string) string {
		if cmd == "MGET" || cmd == "DEL" {
			return "OOM command not allowed"
		}
		return ""
	})
	left := 0
	values, err := pipeline.MGet(ctx, client, keys...)
	var failed *redislanes.PipelineError
	require.ErrorAs(t, err, &failed)
	for i, key := range keys {
		if e.Owner(cluster.Slot(key)) == broken {
			require.Nil(t, values[i])
			left++
		} else {
			require.Equal(t, key, string(values[i]))
		}
	}
	require.Equal(t, left, failed.Failed)
	n, err := pipeline.Del(ctx, client, keys...)
	require.ErrorAs(t, err, &failed)
	require.EqualValues(t, len(keys)-left, n)

	require.ErrorIs(t, pipeline.MSet(ctx, client, "a", "1", "b"), redislanes.ErrNotSent)
	_, err = pipeline.MGet(ctx, nil, "a")
	require.ErrorContains(t, err, "client")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = pipeline.Exists(ended, client, "a")
	require.ErrorIs(t, err, context.Canceled)
}
