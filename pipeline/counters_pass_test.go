package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// TestHitsPassALateSum: a hit waits until its deadline for a sum of callers with more time. Later hits do
// not wait for that sum, until eight are under way.
func TestHitsPassALateSum(t *testing.T) {
	t.Parallel()
	for name, merged := range map[string]bool{"of a call": false, "of several calls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTower(t, 1, pipeline.CountersConfig{})
				brief := 25 * time.Millisecond
				var long []chan error
				lead := pipeline.Hit{Key: "k", By: 1}
				flow := w.stall(0, toClient)
				long = append(long, w.lead(within(t, 20*time.Second), &lead))
				if merged {
					long = append(long, w.gather(t, []pipeline.Hit{{Key: "k", By: 1}, {Key: "k", By: 1}})...)
					flowToo := w.stall(0, toServer)
					flow()
					require.NoError(t, <-long[0])
					flow, long = flowToo, long[1:]
					synctest.Wait()
				}
				counted := int64(len(long))
				if merged {
					counted++ // the first one, which has its reply
				}

				first := pipeline.Hit{Key: "k", By: 1}
				behind := w.gather(t, []pipeline.Hit{{Key: "k", By: 1}}) // with much time, behind the late sum
				require.ErrorIs(t, <-w.hit(within(t, brief), &first), redislanes.ErrNotSent)
				require.ErrorIs(t, first.Err, context.DeadlineExceeded)
				synctest.Wait()
				require.Zero(t, w.counters.Waiting("k"), "it has left with a sum of its own")
				beside := make([]pipeline.Hit, 6)
				for i := range beside { // with the late sum and the one of behind, as many as may be under way
					beside[i] = pipeline.Hit{Key: "k", By: 1}
					behind = append(behind, w.hit(within(t, 20*time.Second), &beside[i]))
					require.Zero(t, w.counters.Waiting("k"))
				}
				behind = append(behind, w.gather(t, []pipeline.Hit{{Key: "k", By: 1}})...)
				require.ErrorIs(t, <-w.hit(within(t, brief), &first), redislanes.ErrNotSent)
				synctest.Wait()
				require.Equal(t, 1, w.counters.Waiting("k"), "enough have passed")
				flow()
				for _, done := range append(long, behind...) {
					require.NoError(t, <-done)
				}
				require.Equal(t, counted+int64(len(behind))+1, w.hitOnce(t, "k", 1, 0))
				synctest.Wait()
				require.Zero(t, w.counters.Waiting("k"))
			})
		})
	}
}
