package pipeline_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestCloseEndsWhatHasNoEnd: hits that try while their context lasts, which is for
// ever, do not hold up Close for ever, those that wait for a flight included.
func TestCloseEndsWhatHasNoEnd(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	var tries atomic.Int32
	e.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			tries.Add(1)
			return "LOADING for ever"
		}
		return ""
	})
	client := open(t, cluster.Config{RetryWindow: cluster.WhileContextLasts}, e.Addrs())
	counters := pipeline.CountersConfig{}.New(client)
	const calls = 3
	cancelable, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, calls)
	for i := range calls {
		ctx := context.Background()
		switch i {
		case 1: // it waits for the first, which has two hits on the key by now
			require.Eventually(t, func() bool { return tries.Load() > 0 }, 10*time.Second, time.Millisecond)
		case 2: // it waits, too
			ctx = cancelable
			require.Eventually(t, func() bool { return counters.Waiting("k") == 2 }, 10*time.Second, time.Millisecond)
		}
		hit := pipeline.Hit{Key: "k", By: 1, TTL: time.Hour}
		go func() { failed <- counters.Hit(ctx, []pipeline.Hit{hit, hit}) }()
	}
	require.Eventually(t, func() bool { return counters.Waiting("k") == 4 }, 10*time.Second, time.Millisecond)
	began := time.Now()
	require.NoError(t, counters.Close())
	require.Less(t, time.Since(began), 15*time.Second)
	for range calls {
		// One that leaves at the same moment as its flight does not know what became
		// of that.
		err := <-failed
		require.True(t, errors.Is(err, redislanes.ErrRefused) || errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrUnknownOutcome), err)
	}
}
