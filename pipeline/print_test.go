package pipeline_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestCountersPrint: Counters can be printed while they count. To read their maps then would end the
// process.
func TestCountersPrint(t *testing.T) {
	t.Parallel()
	redis := redistest.StartEmulated(t, 1)
	counters := pipeline.CountersConfig{}.New(open(t, cluster.Config{}, redis.Addrs()))
	ctx := within(t, 10*time.Second)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				_ = counters.Hit(ctx, []pipeline.Hit{{Key: fmt.Sprint("canary", i, j), By: 1}})
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(verb, counters)
			require.True(t, strings.HasPrefix(text, "pipeline.Counters{cluster.Client{["), text)
			require.NotContains(t, text, "canary")
		}
	}
	require.NoError(t, counters.Close())
	require.Equal(t, "pipeline.Counters(nil)", fmt.Sprint((*pipeline.Counters)(nil)))
	require.Equal(t, "pipeline.Counters{cluster.Client(nil)}", fmt.Sprint(new(pipeline.Counters)))
}
