package pipeline_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestCloseEndsWhatHasNoEnd: hits that try while their context lasts, which is for
// ever, do not hold up Close for ever, those that wait for a sum included.
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
		// One that leaves at the same moment as its sum does not know what became
		// of that.
		err := <-failed
		require.True(t, errors.Is(err, redislanes.ErrRefused) || errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrUnknownOutcome), err)
	}
}

// patientTower returns a tower of one node, whose client waits for a minute for a silent node.
func patientTower(t *testing.T, patient pool.Laned) *tower {
	w := newTower(t, 1, pipeline.CountersConfig{})
	patient.StallTimeout = time.Minute
	client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, Pool: patient}, []string{w.Nodes()[0].Addr()})
	w.counters = pipeline.CountersConfig{}.New(client)
	require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k"))) // it is connected
	return w
}

// TestCloseWaitsForDeadlines: hits that travel together, and those that wait behind them, have until
// their callers' deadlines when Close is called, as a hit that travels alone has.
func TestCloseWaitsForDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := patientTower(t, pool.Laned{})
		first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
		hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 20}, {Key: "k", By: 40}}
		others := w.gather(t, hits[:2])
		arrive := w.stall(0, toServer)
		flow()
		require.NoError(t, <-first)
		synctest.Wait()
		others = append(others, w.gather(t, hits[2:])...) // behind the two, which are under way
		closed := make(chan error, 1)
		go func() { closed <- w.counters.Close() }()
		time.Sleep(7 * time.Second)
		require.Empty(t, closed)
		arrive()
		for i, done := range others {
			require.NoError(t, <-done, i)
		}
		require.NoError(t, <-closed)
		require.Equal(t, []int64{11, 31, 71}, []int64{hits[0].Total, hits[1].Total, hits[2].Total})
	})
}

// TestCloseDoesNotWaitForDeadlines: Close ends commands that nobody waits for any more, whatever
// deadlines their callers had.
func TestCloseDoesNotWaitForDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := patientTower(t, pool.Laned{Lanes: 1})
		first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		left := w.hit(ctx, &pipeline.Hit{Key: "k", By: 2})
		require.Equal(t, 1, w.counters.Waiting("k"))
		arrive := w.stall(0, toServer)
		flow()
		require.NoError(t, <-first)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-left, redislanes.ErrUnknownOutcome)
		began := time.Now()
		require.NoError(t, w.counters.Close())
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
		arrive()
	})
}

// TestCloseWaitsForDeliveries: nothing of Counters runs when Close has returned.
func TestCloseWaitsForDeliveries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
		hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 20}}
		others := w.gather(t, hits)
		closed := make(chan error, 1)
		go func() { closed <- w.counters.Close() }()
		synctest.Wait()
		require.ErrorIs(t, w.counters.Hit(t.Context(), nil), redislanes.ErrClosed)
		select {
		case err := <-closed:
			t.Fatal("Close did not wait", err)
		default:
		}
		flow()
		require.NoError(t, <-closed)
		require.NoError(t, <-first)
		for _, done := range others {
			require.NoError(t, <-done)
		}
		require.Equal(t, []int64{11, 31}, []int64{hits[0].Total, hits[1].Total})
	})
}
