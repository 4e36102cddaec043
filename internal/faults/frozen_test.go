package faults

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// bound returns how long something may take: strictly, or beside other load.
func bound(strictly, loaded time.Duration) time.Duration {
	if strict {
		return strictly
	}
	return loaded
}

// A record is when the last call began that ended in some way, after a moment.
type record struct {
	mu            sync.Mutex
	full, unknown time.Duration // took its whole deadline; had an unknown outcome
}

// callers makes calls until the context ends, and records those that began after
// the moment.
func (r *record) callers(ctx context.Context, client *cluster.Client, l *load, moment time.Time, n int) *sync.WaitGroup {
	var callers sync.WaitGroup
	for range n {
		callers.Go(func() {
			p := pipeline.New(client)
			for ctx.Err() == nil {
				began := time.Now()
				err := l.call(p)
				r.mu.Lock()
				if time.Since(began) >= l.deadline {
					r.full = max(r.full, began.Sub(moment))
				}
				if errors.Is(err, redislanes.ErrUnknownOutcome) {
					r.unknown = max(r.unknown, began.Sub(moment))
				}
				r.mu.Unlock()
				<-time.After(time.Millisecond) // failing at once is no reason to spin
			}
		})
	}
	return &callers
}

// TestFrozenPrimaryIsSuspect: calls wait for a frozen node for about half a second. After
// that, calls with less time left than RetryWindow fail at once. Commands for other nodes
// have their replies. When the node goes on, its commands succeed again.
func TestFrozenPrimaryIsSuspect(t *testing.T) {
	for name, retryWindow := range map[string]time.Duration{"defaults": 0, "no grace": -1} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			real := servers.StartCluster(t, servers.Options{Primaries: 3, Directives: []string{"cluster-require-full-coverage no"}})
			client := open(t, cluster.Config{RetryWindow: retryWindow}, real.Addrs())
			ctx := servers.Within(t, 60*time.Second)
			keys := redistest.KeysInSlots(9, "frozen")
			l := startLoad(client, 0, keys, 100*time.Millisecond)
			p := pipeline.New(client)
			until(t, ctx, "all nodes are connected", func() bool { return l.call(p) == nil })
			spared := l.elsewhere(t, ctx, real)
			require.NoError(t, real.Nodes()[0].Pause())
			defer func() { _ = real.Nodes()[0].Resume() }()
			var r record
			run, stop := context.WithTimeout(ctx, 2500*time.Millisecond) // less than StallTimeout
			defer stop()
			r.callers(run, client, l, time.Now(), 8).Wait()
			t.Logf("the last call with an unknown outcome began %v after the stop, the last that took its whole deadline %v; %v; latest %v after its deadline",
				r.unknown.Round(time.Millisecond), r.full.Round(time.Millisecond), l, l.worst().Round(100*time.Microsecond))
			require.Less(t, r.unknown, bound(600*time.Millisecond, 2*time.Second))
			require.Less(t, r.full, bound(600*time.Millisecond, time.Minute)) // a busy machine takes whole deadlines, too
			l.inTime(t)
			for _, i := range spared {
				require.GreaterOrEqual(t, l.acknowledged[i].Load(), atLeast(l.calls.Load()), "commands for other nodes have their replies")
			}
			require.Empty(t, closes(client)["stalled"], "what is in flight stays")
			require.NoError(t, real.Nodes()[0].Resume())
			again, cancel := context.WithCancel(ctx)
			callers := r.callers(again, client, l, time.Now(), 1)
			took := served(t, ctx, l)
			cancel()
			callers.Wait()
			t.Logf("served again %v after it went on", took.Round(time.Millisecond))
			require.Less(t, took, bound(100*time.Millisecond, 2*time.Second))
			l.end()
			l.verify(t, client, true)
		})
	}
}

// atLeast is how many of n calls must have replies within 100 ms: all, but for
// what a busy machine delays.
func atLeast(n int64) int64 {
	if strict {
		return n
	}
	return n * 9 / 10
}

func closes(client *cluster.Client) map[string]uint64 {
	all := make(map[string]uint64)
	for _, n := range client.Stats().Nodes {
		for reason, count := range n.Pool.Closes {
			all[reason] += count
		}
	}
	return all
}

// elsewhere returns which keys are not the first node's.
func (l *load) elsewhere(t *testing.T, ctx context.Context, real *servers.Cluster) (spared []int) {
	t.Helper()
	for i, key := range l.keys {
		owner, err := real.Owner(ctx, cluster.Slot(key))
		require.NoError(t, err)
		if owner != real.Nodes()[0] {
			spared = append(spared, i)
		}
	}
	require.NotEmpty(t, spared)
	return spared
}
