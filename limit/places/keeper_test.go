package places

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
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
		"all are lost after a freeze": {[]time.Duration{0, time.Second, 2 * time.Second}, time.Minute, 0, 3, time.Minute + 12*time.Second, 2 * time.Second},
		"the older one is behind":     {[]time.Duration{5 * time.Second, 0}, 4 * time.Second, 1, 0, 4 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			of := &Semaphore{cfg: Config{TTL: 12 * time.Second}}
			k := &keeper{of: of, running: true}
			for _, sent := range c.sent {
				k.add(&Hold{of: of, sent: at(sent), at: -1})
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
	c := semaphoreAt(t, cluster.Config{}, Config{Name: "c", Max: 1, Budget: patient}, redistest.StartEmulated(t, 3).Addrs())
	hold, d := c.Acquire(t.Context(), "k")
	require.True(t, d.Allowed)
	hold.Release()
	require.Zero(t, c.holders(t, "k"))
	c.keeper.send(&round{renew: []*Hold{hold}, limit: time.Minute})
	c.mustReach(t, "k", 0)
}
