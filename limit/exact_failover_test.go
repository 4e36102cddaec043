package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
)

// A usage is what became of hits on one limit.
type usage struct {
	allowed, leased, unknown atomic.Int64
}

// use hits the limit until it is used up.
func (u *usage) use(ctx context.Context, l *Limiter, of *Limit) {
	for denials := 0; denials < 20 && ctx.Err() == nil; {
		switch r := l.Allow(ctx, Request{Limit: of, Key: "k"}); {
		case r.Allowed:
			u.allowed.Add(1)
			if r.Leased {
				u.leased.Add(1)
			}
		case errors.Is(r.Err, redislanes.ErrUnknownOutcome):
			u.unknown.Add(1)
		case r.Err == nil:
			denials++
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// TestExactThroughFailovers: eight processes with leases use up a limit while its primary is
// replaced. After a failover that loses no write they never allow more than the limit. After a kill
// they allow more at most by the hits that were acknowledged and that the new primary does not have.
// They use all of it, but for hits whose outcome nobody knows.
func TestExactThroughFailovers(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	t.Run("failover", func(t *testing.T) {
		lost := exactThrough(t, real, func(ctx context.Context, primary *servers.Node) {
			require.NoError(t, replicaOf(ctx, t, real, primary).Failover(ctx, ""))
		})
		require.Zero(t, lost)
	})
	t.Run("kill", func(t *testing.T) {
		exactThrough(t, real, func(_ context.Context, primary *servers.Node) { require.NoError(t, primary.Kill()) })
	})
}

// exactThrough returns how many acknowledged hits the cluster has lost.
func exactThrough(t *testing.T, real *servers.Cluster, replace func(ctx context.Context, primary *servers.Node)) (lost int64) {
	most := int64(race.Rounds(20_000, 10_000))
	ctx := servers.Within(t, 60*time.Second)
	seen, u := new(ledger), new(usage)
	var callers sync.WaitGroup
	var limiters []*Limiter
	rule := Rule{Name: "user", Quota: most, Window: mostWindow, FailClosed: true}
	for range 8 {
		l := limiterAt(t, cluster.Config{}, Config{Prefix: t.Name(), Budget: 10 * time.Second, NearCache: -1, Observer: seen}, real.Addrs())
		limiters = append(limiters, l)
		of := l.must(t, rule)
		for range 4 {
			callers.Go(func() { u.use(ctx, l, of) })
		}
	}
	of := limiters[0].must(t, rule)
	require.Eventually(t, func() bool { return u.allowed.Load() > most/4 }, soonEnough, often)
	key := limiters[0].places(of, time.Now(), "k")[1]
	primary, err := real.Owner(ctx, cluster.Slot(key))
	require.NoError(t, err)
	replace(ctx, primary)
	callers.Wait()
	require.NoError(t, ctx.Err())
	for _, l := range limiters { // what nobody has used is returned
		require.Eventually(t, func() bool { return l.leases() == 0 }, soonEnough, often)
	}
	var counted int64
	require.Eventually(t, func() bool {
		n, err := limiters[0].counted(of, "k")
		same := err == nil && n == counted
		counted = n
		return same
	}, soonEnough, 50*time.Millisecond)
	hits := seen.sums()
	lost = max(0, hits[sumCounted]-hits[sumReturned]-hits[sumLost]-counted)
	t.Logf("%d allowed, %d by leases, %d unknown, %d not returned, %d writes lost", u.allowed.Load(), u.leased.Load(), u.unknown.Load(), hits[sumLost], lost)
	require.LessOrEqual(t, u.allowed.Load(), most+lost)
	require.GreaterOrEqual(t, float64(u.allowed.Load()+u.unknown.Load()+hits[sumLost]), leastUse*float64(most))
	require.Positive(t, u.leased.Load())
	return lost
}

// replicaOf returns the replica of the primary.
func replicaOf(ctx context.Context, t *testing.T, c *servers.Cluster, primary *servers.Node) *servers.Node {
	t.Helper()
	for _, n := range c.Nodes() {
		var role []any
		require.NoError(t, n.Do(ctx, &role, "ROLE"))
		if len(role) > 2 && role[2] == int64(primary.Port()) {
			return n
		}
	}
	t.Fatal("the primary has no replica")
	return nil
}
