package limit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/redistest"
)

// TestKeeperPlan: what is renewed when.
func TestKeeperPlan(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for name, c := range map[string]struct {
		sent   []time.Duration // of holds with a time to live of 12 s
		now    time.Duration
		renew  int
		lost   int
		wakeAt time.Duration
		limit  time.Duration
	}{
		"nothing is due":              {[]time.Duration{0, 1 * time.Second}, 3 * time.Second, 0, 0, 4 * time.Second, 2 * time.Second},
		"a third is over":             {[]time.Duration{0, 2 * time.Second}, 4 * time.Second, 1, 0, 4 * time.Second, 2 * time.Second},
		"others soon":                 {[]time.Duration{0, time.Second}, 4 * time.Second, 2, 0, 4 * time.Second, 2 * time.Second},
		"one is lost, others are not": {[]time.Duration{0, 9 * time.Second}, 12 * time.Second, 0, 1, 13 * time.Second, 2 * time.Second},
		"it is lost before its time":  {[]time.Duration{0, 9 * time.Second}, 11400 * time.Millisecond, 0, 1, 13 * time.Second, 2 * time.Second},
		"the trip ends before a loss": {[]time.Duration{0, 8 * time.Second}, 11 * time.Second, 2, 0, 4 * time.Second, 400 * time.Millisecond},
		"all are lost after a freeze": {[]time.Duration{0, time.Second, 2 * time.Second}, time.Minute, 0, 3, time.Minute + mostTTL, 2 * time.Second},
		"the older one is behind":     {[]time.Duration{5 * time.Second, 0}, 4 * time.Second, 1, 0, 4 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keeper{running: true}
			for _, sent := range c.sent {
				k.add(&Hold{of: &Concurrency{rule: ConcurrencyRule{TTL: 12 * time.Second}}, sent: at(sent), at: -1})
			}
			r, more := k.plan(at(c.now))
			require.True(t, more)
			require.Len(t, r.renew, c.renew)
			require.Len(t, r.lost, c.lost)
			require.Len(t, r.leave, c.lost, "what is lost is given back, too")
			require.Equal(t, c.limit, r.limit)
			require.Equal(t, at(c.wakeAt), r.wake)
			for i, h := range k.held {
				require.Equal(t, i, h.at)
			}
		})
	}
}

// TestReleaseDuringRenewal: a renewal may take a place again that was released meanwhile. It is
// given back once more.
func TestReleaseDuringRenewal(t *testing.T) {
	t.Parallel()
	l := limiterAt(t, cluster.Config{}, patient, redistest.StartEmulated(t, 3).Addrs())
	c := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1})
	hold, d := c.Acquire(t.Context(), "k")
	require.True(t, d.Allowed)
	hold.Release()
	require.Zero(t, c.holders(t, "k"))
	l.keeper.mu.Lock()
	l.keeper.by = time.Now().Add(time.Minute)
	l.keeper.mu.Unlock()
	l.keeper.send(&round{renew: []*Hold{hold}})
	c.mustReach(t, "k", 0)
}

// TestShortHoldBesideASilentServer: a hold that is taken while a silent server has the renewals of others
// wait is renewed in time, though its TTL is shorter than theirs.
func TestShortHoldBesideASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
		long, short := ConcurrencyRule{Name: "long", Limit: 1, TTL: time.Minute}, ConcurrencyRule{Name: "short", Limit: 1, TTL: time.Second}
		of, rival := l.mustHold(t, short), other.mustHold(t, short)
		slow, key := l.mustHold(t, long), ""
		for i := 0; key == ""; i++ {
			if k := strconv.Itoa(i); w.model.Owner(cluster.Slot(of.head+k)) != w.model.Owner(cluster.Slot(slow.head+k)) {
				key = k
			}
		}
		_, d := slow.Acquire(t.Context(), key)
		require.True(t, d.Allowed)
		time.Sleep(19 * time.Second)
		w.net.Impose("", w.model.Owner(cluster.Slot(slow.head+key)).Addr(), simnet.Conditions{Stall: simnet.Both})
		time.Sleep(1100 * time.Millisecond) // the renewal of the long one is under way
		hold, d := of.Acquire(t.Context(), key)
		require.True(t, d.Allowed)
		for range 300 {
			time.Sleep(10 * time.Millisecond)
			_, d := rival.Acquire(t.Context(), key)
			require.NoError(t, d.Err)
			require.False(t, d.Allowed)
			require.False(t, isLost(hold))
		}
		hold.Release()
		_, d = rival.Acquire(t.Context(), key)
		require.True(t, d.Allowed)
	})
}
