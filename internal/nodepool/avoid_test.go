package nodepool

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// inSet reports whether the strategies see the connection.
func inSet(p *Node, l *wire.Lane) bool {
	set := sharedIn(p).fast.set.Load()
	for i := range set.Len() {
		if set.Lane(i) == l {
			return true
		}
	}
	return false
}

// lookOn lets the maintenance look at the pool until a silence on the lane is an
// unusual one. It does not take as long as that.
func lookOn(t *testing.T, p *Node, l *wire.Lane) {
	until(t, "the lane is avoided", func() bool {
		p.main.mu.Lock()
		next := p.main.health.Looked().Add(p.main.health.LookEvery()) // the pool's own looks come between these
		p.main.mu.Unlock()
		p.main.look(next)
		return avoided(p, l)
	})
}

func avoided(p *Node, l *wire.Lane) bool {
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	for _, m := range p.main.members {
		if m.lane == l {
			return m.doubted.Load()
		}
	}
	return false
}

// TestSilentLanesAreAvoided holds up the lanes one after the other. The strategy sees the
// others and the replacements of the silent ones, of which there are as many as lanes. It
// sees all lanes when all are silent, and each lane again when it answers. Then the
// surplus leaves.
func TestSilentLanesAreAvoided(t *testing.T) {
	t.Parallel()
	const size = 3
	p, release := stuck(t, Laned{Lanes: size, SlowLanes: -1, Options: patient})
	ctx := within(t, 20*time.Second)
	lanesInSet := func(n int) {
		until(t, "so many lanes are in the set", func() bool { return sharedIn(p).fast.set.Load().Len() == n })
	}
	lanesInSet(size)
	done := make(chan error, health.MostTimes*size)
	for left := health.MostTimes*size - 1; left >= 0; left-- {
		first := sharedIn(p).fast.set.Load().Lane(0) // FirstFit takes it
		go func() { done <- p.Do(ctx, radix.Cmd(nil, "GET", "k")) }()
		until(t, "it is on its lane", func() bool { return first.InFlight() == 1 })
		lookOn(t, p, first)
		if left > 0 {
			lanesInSet(min(left, size))
			require.False(t, inSet(p, first))
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
		}
	}
	lanesInSet(health.MostTimes * size)
	require.Len(t, p.figures().LaneInFlight, health.MostTimes*size)
	release()
	for range health.MostTimes * size {
		require.NoError(t, <-done)
	}
	until(t, "the surplus has left", func() bool { return p.figures().Open == size })
	lanesInSet(size)
	for range 2 * health.LooksInSilence {
		p.main.look(time.Now().Add(time.Hour))
	}
	lanesInSet(size)
	require.Len(t, p.figures().Closes, 1, "idle lanes are not silent ones")
}

// TestBytesPutALaneBack: bytes of a reply that is not complete count, too.
func TestBytesPutALaneBack(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 2, SlowLanes: -1, Options: patient}, lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	ctx := within(t, 20*time.Second)
	const size = 8 << 20
	require.NoError(t, p.Do(ctx, radix.FlatCmd(nil, "SETRANGE", "large", size-1, "x")))
	until(t, "all lanes are there", func() bool { return sharedIn(p).fast.set.Load().Len() == 2 })
	first := sharedIn(p).fast.set.Load().Lane(0)
	proxy.Stall(redistest.ToClient)
	got := make(chan int, 1)
	go func() {
		var value []byte
		_ = p.Do(ctx, radix.Cmd(&value, "GET", "large"))
		got <- len(value)
	}()
	until(t, "it is in flight", func() bool { return first.InFlight() == 1 })
	lookOn(t, p, first)
	require.False(t, inSet(p, first))
	// Slow enough that the reply takes longer than the test.
	before := first.Progress()
	proxy.Throttle(redistest.ToClient, 256<<10)
	proxy.Flow(redistest.ToClient)
	until(t, "bytes arrive", func() bool { return first.Progress() > before })
	p.main.inspect(time.Now())
	require.True(t, inSet(p, first))
	proxy.Throttle(redistest.ToClient, 0)
	require.Equal(t, size, <-got)
}

// TestClosedLanesAreNotChosen: a lane that is being replaced is not in the set.
func TestClosedLanesAreNotChosen(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 2, Options: Options{MinBackoff: time.Hour, MaxBackoff: time.Hour}}, lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	until(t, "all lanes are there", func() bool { return sharedIn(p).fast.set.Load().Len() == 2 })
	lost := sharedIn(p).fast.set.Load().Lane(0)
	proxy.Refuse(true)
	lost.Fail(context.DeadlineExceeded)
	until(t, "the lane has left the set", func() bool { return !inSet(p, lost) })
	require.Equal(t, 1, sharedIn(p).fast.set.Load().Len())
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 50 {
				if err := p.Do(context.Background(), radix.Cmd(nil, "PING")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	require.Zero(t, p.figures().WaitCount)
}
