package faults

import (
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestReshardingAndFailover: slots move and replicas take over gracefully under load. No
// call fails, and nothing is lost or counted twice.
//
// On a busy machine a replica of Redis 7.0 that has taken over may say for good that
// its cluster is down, once in some thirty runs. Then another cluster is tried.
func TestReshardingAndFailover(t *testing.T) {
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 10}} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			for tries := 1; ; tries++ {
				broken := reshardAndFailOver(t, kind)
				if broken == nil {
					return
				}
				t.Logf("the servers are broken: %v", broken)
				require.Less(t, tries, 3, "the servers are broken again and again")
			}
		})
	}
}

// reshardAndFailOver returns why the servers, and not the client, cannot go on.
func reshardAndFailOver(t *testing.T, kind pool.Config) (broken error) {
	t.Helper()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	client := open(t, cluster.Config{Pool: kind}, real.Addrs())
	ctx := servers.Within(t, 120*time.Second)
	perMove, callers, more := 150, 12, int64(5000)
	if strict {
		perMove, callers, more = 1200, 32, 10_000
	}
	l := startLoad(client, callers, append(redistest.KeysInSlots(30, "reshard"), keysThatMove(perMove)...), 0)
	defer l.end()
	ways := real.ReshardWays()
	for i := range 3 {
		// The first slots of one primary go to the next one, then its
		// replica takes over.
		slots := make([]uint16, perMove)
		for j := range slots {
			slots[j] = uint16(i*perPrimary + j)
		}
		from, err := real.Owner(ctx, slots[0])
		require.NoError(t, err)
		to := primary(t, real, (i+1)%3)
		require.NotEqual(t, from, to)
		require.NoError(t, ways[i%len(ways)](ctx, slots, to))
		failOver(t, real, i)
		if err := real.WaitHealthy(servers.Within(t, 30*time.Second)); err != nil {
			return err
		}
	}
	seen := sum(l.acknowledged)
	until(t, ctx, "the load goes on", func() bool { return sum(l.acknowledged) > seen+more })
	l.end()
	s := client.Stats()
	t.Logf("%v; %d MOVED, %d ASK, %d refused and %d not sent for now, %d refreshes",
		l, s.Moved, s.Ask, s.Refused, s.NotSent, s.Refreshes)
	require.Zero(t, l.failedCalls.Load(), "%v", l.first)
	require.NotZero(t, s.Moved)
	l.verify(t, client, true)
	for i, key := range l.keys {
		var ttl int
		require.NoError(t, client.Do(ctx, radix.Cmd(&ttl, "TTL", key)))
		require.Positive(t, ttl, "key %d lives for ever", i)
	}
	return nil
}

const perPrimary = 16384/3 + 1

// keysThatMove returns 30 keys in the first slots of the three primaries.
func keysThatMove(slots int) (keys []string) {
	for i := range 30 {
		keys = append(keys, redistest.KeyInSlot(uint16(i%3*perPrimary+i/3*slots/10), "moves"))
	}
	return keys
}

// primary returns the i-th pair's primary: node i or its replica i+3.
func primary(t *testing.T, c *servers.Cluster, i int) *servers.Node {
	t.Helper()
	for _, n := range []*servers.Node{c.Nodes()[i], c.Nodes()[i+3]} {
		if ok, err := n.IsPrimary(servers.Within(t, 5*time.Second)); err == nil && ok {
			return n
		}
	}
	t.Fatalf("neither of the nodes %d and %d is a primary", i, i+3)
	return nil
}

// failOver lets the i-th pair's replica take over gracefully.
func failOver(t *testing.T, c *servers.Cluster, i int) {
	t.Helper()
	ctx := servers.Within(t, 30*time.Second)
	replica := c.Nodes()[i+3]
	if primary(t, c, i) == replica {
		replica = c.Nodes()[i]
	}
	require.NoError(t, replica.Failover(ctx, ""))
	until(t, ctx, "the replica has taken over", func() bool {
		ok, err := replica.IsPrimary(ctx)
		return err == nil && ok
	})
}
