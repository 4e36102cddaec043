package faults

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestStoppedPrimary stops one of three primaries. Calls with a deadline of 100
// ms, 10 at a time, 1,000 of them if strict, are back at their deadlines, and their commands for
// the other nodes have their replies.
func TestStoppedPrimary(t *testing.T) {
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 10}} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			real := servers.StartCluster(t, servers.Options{Primaries: 3, Directives: []string{"cluster-require-full-coverage no"}})
			client := open(t, cluster.Config{Pool: kind}, real.Addrs())
			ctx := servers.Within(t, 60*time.Second)
			keys := redistest.KeysInSlots(9, "stopped")
			stopped := real.Nodes()[0]
			var onStopped []bool
			for _, key := range keys {
				owner, err := real.Owner(ctx, cluster.Slot(key))
				require.NoError(t, err)
				onStopped = append(onStopped, owner == stopped)
			}
			p := pipeline.New(client)
			for _, key := range keys {
				p.IncrBy(key, 0)
			}
			require.NoError(t, p.Do(ctx))

			require.NoError(t, stopped.Pause())
			defer func() { _ = stopped.Resume() }()
			l := startLoad(client, 10, keys, 100*time.Millisecond)
			calls := int64(300)
			if strict {
				calls = 1000
			}
			until(t, ctx, "the calls are back", func() bool { return l.calls.Load() >= calls })
			l.end()
			t.Logf("%v; latest %v after its deadline; %+v", l, l.worst().Round(time.Millisecond), closes(client))
			l.inTime(t)
			for i := range keys {
				if onStopped[i] {
					require.Zero(t, l.acknowledged[i].Load())
				} else {
					require.GreaterOrEqual(t, l.acknowledged[i].Load(), atLeast(l.calls.Load()), "commands for other nodes have their replies")
				}
			}
			require.NoError(t, stopped.Resume())
			until(t, ctx, "the node is used again", func() bool {
				p.Reset()
				for _, key := range keys {
					p.IncrBy(key, 0)
				}
				return p.Do(ctx) == nil
			})
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

// TestStoppedPrimaryFailsFast: once the stall was noticed, calls do not wait for
// the node any more: a rate limiter can fail open at once.
func TestStoppedPrimaryFailsFast(t *testing.T) {
	parallel(t)
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Directives: []string{"cluster-require-full-coverage no"}})
	client := open(t, cluster.Config{Pool: pool.Laned{Options: pool.Options{StallTimeout: 300 * time.Millisecond}}}, real.Addrs())
	ctx := servers.Within(t, 60*time.Second)
	keys := redistest.KeysInSlots(9, "fast")
	l := startLoad(client, 10, keys, 100*time.Millisecond)
	defer l.end()
	until(t, ctx, "the load runs", func() bool { return sum(l.acknowledged) > 1000 })
	require.NoError(t, real.Nodes()[0].Pause())
	defer func() { _ = real.Nodes()[0].Resume() }()
	p := pipeline.New(client)
	var took time.Duration
	for began := time.Now(); ; { // until the grace for a failover is over
		p.Reset()
		for _, key := range keys {
			p.IncrBy(key, 0)
		}
		start := time.Now()
		err := p.Do(ctx)
		took = time.Since(start)
		if errors.Is(err, redislanes.ErrDown) && took < 50*time.Millisecond {
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			t.Logf("calls fail after %v from %v after the stop on", took, time.Since(began).Round(time.Millisecond))
			return
		}
		require.NoError(t, ctx.Err(), "calls never failed fast")
	}
}
