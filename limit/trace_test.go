package limit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// TestTraceKeepsItsContexts: a Trace may keep the context of a call, which is not used for another one.
func TestTraceKeepsItsContexts(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				type caller struct{}
				var mu sync.Mutex
				kept := make(map[any][]context.Context)
				w := newTracedWorld(t, &redislanes.Trace{EndRequest: func(ctx context.Context, _ redislanes.RequestStart, _ redislanes.RequestInfo) {
					mu.Lock()
					defer mu.Unlock()
					kept[ctx.Value(caller{})] = append(kept[ctx.Value(caller{})], ctx)
				}})
				l := w.limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Hour, Algorithm: algorithm, NoLease: true})
				for _, name := range []string{"a", "b", "c"} {
					r := l.Allow(context.WithValue(t.Context(), caller{}, name), Request{Limit: limit, Key: "k"})
					require.NoError(t, r.Err)
				}
				for _, name := range []string{"a", "b", "c"} {
					require.NotEmpty(t, kept[name])
					for _, ctx := range kept[name] {
						require.Equal(t, name, ctx.Value(caller{}))
						require.NotErrorIs(t, ctx.Err(), context.DeadlineExceeded)
					}
				}
			})
		})
	}
}
