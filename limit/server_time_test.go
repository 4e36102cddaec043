package limit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// skews are how far the clocks of two processes are ahead.
var skews = [2]time.Duration{-100 * time.Millisecond, 200 * time.Millisecond}

// ahead returns a clock that is ahead.
func ahead(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// skewed returns the limiter of a process whose clock is ahead.
func skewed(t *testing.T, client *cluster.Client, by time.Duration, follow bool) *Limiter {
	t.Helper()
	l, err := Config{Budget: time.Second}.New(client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	if follow {
		require.NoError(t, l.startServerTime(ahead(by)))
	}
	return l
}

// share has two processes share a limit of 400 in a second. Each demands 800 in one half of each second
// of the servers: in turn the first one and the second one. It returns
// how many hits were allowed in each second of the servers, without those near its edges.
func share(t *testing.T, clients [2]*cluster.Client, follow bool, edge, length time.Duration) map[int64]int64 {
	var mu sync.Mutex
	allowed := make(map[int64]int64)
	var both sync.WaitGroup
	defer both.Wait()
	end := time.Now().Add(length)
	for i, by := range skews {
		l := skewed(t, clients[i], by, follow)
		limit := l.must(t, Rule{Name: "shared", Quota: 400, Window: time.Second, FailClosed: true})
		both.Go(func() {
			for next := time.Now(); next.Before(end); next = next.Add(time.Second / 1600) {
				time.Sleep(time.Until(next))
				now := time.Now()
				w := window.At(now, time.Second)
				if (w.Number%2 == 0) != (w.Elapsed < w.Length/2) {
					continue
				}
				var r Result
				l.allowAt(context.Background(), ahead(by)(), now, []Request{{Limit: limit, Key: "k"}}, nil, &r)
				if r.Allowed && w.Elapsed >= edge && window.At(time.Now().Add(edge), time.Second).Number == w.Number {
					mu.Lock()
					allowed[w.Number]++
					mu.Unlock()
				}
			}
		})
	}
	return allowed
}

// TestServerTime: two processes whose clocks are 300 ms apart share a limit exactly if they follow
// the servers, and not if they do not.
func TestServerTime(t *testing.T) {
	for _, follow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			time.Sleep(window.At(time.Now(), time.Second).Left())
			first := window.At(time.Now(), time.Second).Number
			allowed := share(t, [2]*cluster.Client{w.client, w.client}, follow, 0, 8*time.Second)
			off := 0
			for number := first; number < first+8; number++ {
				if allowed[number] != 400 {
					off++
				}
			}
			t.Log(follow, allowed)
			require.Equal(t, follow, off == 0)
		})
	}
}

// TestServerTimeOfRealServers: the error is half a round trip at most, and hits that are not near the
// edge of a window are never more than the limit.
func TestServerTimeOfRealServers(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	var clients [2]*cluster.Client
	for i, by := range skews {
		client, err := cluster.Config{}.New(t.Context(), real.Addrs())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		clients[i] = client
		began := time.Now()
		l := skewed(t, client, by, true)
		trip := time.Since(began) // at most
		require.NotNil(t, l.servers.known.Load())
		wrong := time.Until(l.servers.at(ahead(by)())).Abs()
		require.LessOrEqual(t, wrong, trip/2+2*time.Millisecond) // the process may be stalled between two clocks
	}
	for number, n := range share(t, clients, true, 50*time.Millisecond, 2500*time.Millisecond) {
		require.LessOrEqual(t, n, int64(400), "window %d", number)
	}
}

// TestServerTimeWithoutServers: until a server has answered, the clock of the process counts, and
// New waits for its budget at most. It follows the servers once they answer.
func TestServerTimeWithoutServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		lift := w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		began := time.Now()
		l := w.limiter(t, Config{ServerTime: true, Budget: 50 * time.Millisecond})
		require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
		now := time.Now().Add(time.Minute)
		require.Equal(t, now, l.servers.at(now))
		lift()
		time.Sleep(10 * time.Second)
		require.NotNil(t, l.servers.known.Load())
	})
}

// TestMiddleClock: one wrong clock moves no window.
func TestMiddleClock(t *testing.T) {
	now := time.Now()
	at := func(ahead time.Duration) reading { return reading{local: now, server: now.Add(ahead)} }
	for _, c := range []struct {
		name string
		all  []time.Duration
		want time.Duration
	}{
		{"one server", []time.Duration{time.Second}, time.Second},
		{"two", []time.Duration{2, 1}, 1},
		{"an early one", []time.Duration{3, -time.Hour, 2}, 2},
		{"a late one", []time.Duration{time.Hour, 2, 3}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []reading
			for _, by := range c.all {
				all = append(all, at(by))
			}
			require.Equal(t, c.want, middle(all).ahead())
		})
	}
}

// TestLeaseWhenTheClockStepsBack: a lease returns its hits to the window that they were counted in.
func TestLeaseWhenTheClockStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		ahead := func(by time.Duration) {
			now := time.Now()
			l.servers.known.Store(&reading{local: now, server: now.Add(by)})
		}
		limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Minute})
		atWindow(time.Minute)
		ahead(time.Minute)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		require.Positive(t, l.left(limit, "k"))
		ahead(0)
		require.Zero(t, l.count(t, limit, "k"))
		atWindow(time.Minute)
		time.Sleep(8 * lease.Tick) // nobody uses the lease
		require.Equal(t, used, l.count(t, limit, "k"))
	})
}

// A hook is called with hits.
type hook struct {
	ledger
	hits func(of *Limit, what string)
}

func (h *hook) Hits(of *Limit, what string, _ int64) { h.hits(of, what) }

// TestReservationWhenTheClockSteps: a reservation is of the window that its hits were counted in, also if
// the servers' time is read while it is made.
func TestReservationWhenTheClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := new(hook)
		l := newWorld(t).limiter(t, Config{Observer: step})
		step.hits = func(*Limit, string) {
			now := time.Now()
			l.servers.known.Store(&reading{local: now, server: now.Add(time.Minute)})
		}
		limit := l.must(t, Rule{Name: "user", Quota: 10, Window: time.Minute, Algorithm: SlidingWindow})
		atWindow(time.Minute)
		reserved, r := l.Reserve(t.Context(), Request{Limit: limit, Key: "k", Cost: 7})
		require.True(t, r.Allowed)
		require.EqualValues(t, 7, l.count(t, limit, "k"))
		require.NoError(t, reserved.Cancel(t.Context()))
		require.Zero(t, l.count(t, limit, "k"))
	})
}
