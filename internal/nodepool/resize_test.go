package nodepool

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestResizingLosesNothing lets the load of a real server rise and fall, and
// counts: connections come and go under traffic, and no command fails.
func TestResizingLosesNothing(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	for name, c := range map[string]Config{
		"adaptive": Adaptive{Min: 1, Max: 12, IdleTimeout: 100 * time.Millisecond},
		"laned":    Laned{Lanes: 1, MaxLanes: 6, MaxInFlight: 4, IdleTimeout: 100 * time.Millisecond},
		"laned, round robin": Laned{Lanes: 2, MaxLanes: 8, MaxInFlight: 4, Strategy: lanes.RoundRobin,
			IdleTimeout: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, c, server)
			var done atomic.Int64
			var wg sync.WaitGroup
			callers := newTurnstile()
			for i := range 40 {
				wg.Go(func() {
					for callers.admits(i) {
						if err := p.Do(t.Context(), radix.Cmd(nil, "INCR", name)); err != nil {
							t.Error(err)
							return
						}
						done.Add(1)
					}
				})
			}
			for swing := range uint64(3) {
				callers.open(40)
				until(t, "it has grown", func() bool { s := p.Stats(); return s.Target == s.Size && s.Open == s.Size })
				callers.open(2)
				until(t, "it has shrunk", func() bool {
					s := p.Stats()
					return s.Shrinks > swing && s.Target < s.Size/2 && s.Open == s.Target
				})
			}
			callers.close()
			wg.Wait()
			require.Equal(t, strconv.Itoa(int(done.Load())), get(t, p, name))
			s := p.Stats()
			require.Equal(t, []string{redislanes.CloseIdle}, keys(s.Closes))
		})
	}
}

// A turnstile lets so many callers pass; the others wait.
type turnstile struct {
	changed sync.Cond
	callers int // guarded by changed.L; negative when it is closed
}

func newTurnstile() *turnstile { return &turnstile{changed: sync.Cond{L: new(sync.Mutex)}} }

// admits waits until the i-th caller may pass. It returns false when the turnstile is
// closed.
func (g *turnstile) admits(i int) bool {
	g.changed.L.Lock()
	defer g.changed.L.Unlock()
	for g.callers >= 0 && i >= g.callers {
		g.changed.Wait()
	}
	return g.callers >= 0
}

func (g *turnstile) open(callers int) {
	g.changed.L.Lock()
	g.callers = callers
	g.changed.L.Unlock()
	g.changed.Broadcast()
}

func (g *turnstile) close() { g.open(-1) }

func keys(m map[string]uint64) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// TestPeakOfLanes compares what the pool takes the load of lanes for with what
// it was.
func TestPeakOfLanes(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 3, MaxLanes: 4, Strategy: lanes.RoundRobin}, server)
	ctx := within(t, 10*time.Second)
	until(t, "it is connected", func() bool { return p.Stats().Open == 3 })
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	until(t, "it is quiet", func() bool { return sharedIn(p).load.Now() == 0 })
	sharedIn(p).load.TakePeak()
	require.Zero(t, sharedIn(p).load.TakePeak())
	for range 5 {
		require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	}
	require.Equal(t, 1, sharedIn(p).load.TakePeak(), "one at a time, on three lanes")
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := p.Do(ctx, radix.Cmd(nil, "INCR", "k")); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "all are in flight", func() bool { return p.Stats().InFlight == 20 })
	require.Equal(t, 20, sharedIn(p).load.Now())
	require.Equal(t, 20, sharedIn(p).load.TakePeak())
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
	wg.Wait()
	require.Equal(t, 20, sharedIn(p).load.TakePeak(), "they were in flight since the last look")
	require.Zero(t, sharedIn(p).load.TakePeak())
}

// TestCallersThatGoFromLaneToLane: the load is how many batches are in flight at a
// time, however many lanes they visit. Peaks of lanes, added up, are 16 here, and
// kept the pool at 16 lanes for three callers.
func TestCallersThatGoFromLaneToLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Laned{Lanes: 2, MaxLanes: 16, MaxInFlight: 2, Strategy: lanes.RoundRobin, IdleTimeout: 2 * time.Second},
			10*time.Millisecond)
		w.run(time.Second, 60, always(60), w.command)
		require.Equal(t, 16, w.Stats().Open)
		w.run(8*time.Second, 3, always(3), w.command)
		require.Zero(t, sharedIn(w.Node).load.Now())
		s := w.Stats()
		require.Equal(t, []int{2, 2}, []int{s.Target, s.Open})
		require.EqualValues(t, 1, s.Shrinks)
		require.Equal(t, 0.09, math.Round(100*s.LastResize.Saturation)/100, "3 of 32")
	})
}

// TestLostLanesAreNoLoad: batches that were in flight on lanes that broke are no part of
// the load any more, and neither are those of abandoned calls.
func TestLostLanesAreNoLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Laned{Lanes: 2, MaxLanes: 4, Strategy: lanes.RoundRobin, Options: patient}, time.Minute)
		time.Sleep(time.Second)
		var callers sync.WaitGroup
		for range 6 {
			callers.Go(func() {
				if err := w.command(0); !errors.Is(err, redislanes.ErrUnknownOutcome) {
					t.Errorf("got %v", err)
				}
			})
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Do(brief, radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
		require.Equal(t, 7, sharedIn(w.Node).load.Now())
		w.main.mu.Lock()
		first := w.main.members[0].lane
		w.main.mu.Unlock()
		first.Fail(io.EOF)
		synctest.Wait()
		left := sharedIn(w.Node).load.Now()
		require.Contains(t, []int{3, 4}, left, "on the other lane")
		require.NoError(t, w.Close())
		callers.Wait()
		require.Zero(t, sharedIn(w.Node).load.Now())
	})
}

// TestLoadIsWhatIsInFlight: a caller that has its reply, and makes its next
// request before the connection is free again, is one caller and not two.
func TestLoadIsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := open(t, Adaptive{Min: 1, Max: 2}, servers.StartServer(t, servers.Options{}))
	_ = get(t, p, "k")
	until(t, "the connection is idle", func() bool { return p.Stats().Idle == 1 })
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	m := p.main.members[0]
	m.state = busy // as long as its lane has not told the pool
	require.Zero(t, p.main.loadLocked())
	m.state = dedicated
	require.Equal(t, 1, p.main.loadLocked())
	m.state = isIdle
}
