package places

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestLostInTime: a holder beside a silent server is told before another one gets its place, which is soon. One
// renewal that gets through in time is enough to keep it.
func TestLostInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		config := Config{Name: "job", Max: 1, TTL: 12 * time.Second, FailClosed: true}
		of, rival := mustMake(t, w.client, config), mustMake(t, w.join(t, "rival"), config)
		silence := func() (lift func()) { return w.net.Impose("client", "", simnet.Conditions{Partition: simnet.Both}) }
		hold, d := of.Acquire(t.Context(), "k")
		require.True(t, d.Allowed)
		lift := silence()
		time.Sleep(6500 * time.Millisecond)
		lift()
		time.Sleep(7 * time.Second)
		require.False(t, isLost(hold))
		defer silence()()
		began := time.Now()
		for d.Allowed = false; !d.Allowed; time.Sleep(10 * time.Millisecond) {
			require.Less(t, time.Since(began), config.TTL)
			_, d = rival.Acquire(t.Context(), "k")
			require.NoError(t, d.Err)
		}
		require.True(t, isLost(hold))
		began = time.Now()
		hold.Release()
		require.Zero(t, time.Since(began))
	})
}

// TestReleaseDuringRenewal: the place is given back after the renewal, which would take it again.
func TestReleaseDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		of := mustMake(t, w.client, Config{Name: "job", Max: 1, TTL: 3 * time.Second, Budget: time.Second})
		hold, d := of.Acquire(t.Context(), "k")
		require.True(t, d.Allowed)
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 50 * time.Millisecond})
		defer lift()
		time.Sleep(1020 * time.Millisecond)
		hold.Release()
		require.Zero(t, of.holders(t, "k"))
		require.False(t, isLost(hold))
	})
}
