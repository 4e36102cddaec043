package nodepool

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// inSet reports whether the strategies see the connection.
func inSet(p *Pool, l *wire.Lane) bool {
	set := sharedIn(p).set.Load()
	for i := range set.Len() {
		if set.Lane(i) == l {
			return true
		}
	}
	return false
}

// lookOn lets the maintenance look at the pool until a silence on the lane is an
// unusual one. It does not take as long as that.
func lookOn(t *testing.T, p *Pool, l *wire.Lane) {
	until(t, "the lane is avoided", func() bool {
		p.mu.Lock()
		next := p.looked.Add(p.lookEvery()) // the pool's own looks come between these
		p.mu.Unlock()
		p.look(next)
		return avoided(p, l)
	})
}

func avoided(p *Pool, l *wire.Lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if m.lane == l {
			return m.avoided.Load()
		}
	}
	return false
}

// TestSilentLanesAreAvoided holds up the lanes one after the other: the strategy
// sees the others, all when there is none left, and each again when it answers.
func TestSilentLanesAreAvoided(t *testing.T) {
	t.Parallel()
	const size = 3
	p, release := stuck(t, Laned{Lanes: size, NoSlowLanes: true, Options: patient})
	ctx := within(t, 20*time.Second)
	until(t, "all lanes are there", func() bool { return sharedIn(p).set.Load().Len() == size })
	all := sharedIn(p).set.Load()
	done := make(chan error, size)
	for i := range size {
		// FirstFit takes the first lane that it sees.
		go func() { done <- p.Do(ctx, radix.Cmd(nil, "GET", "k")) }()
		until(t, "it is on its lane", func() bool { return all.InFlight(i) == 1 })
		lookOn(t, p, all.Lane(i))
		if i < size-1 {
			require.False(t, inSet(p, all.Lane(i)))
			require.Equal(t, size-1-i, sharedIn(p).set.Load().Len())
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
		}
	}
	require.Equal(t, size, sharedIn(p).set.Load().Len(), "if all are silent, all are used")
	require.Len(t, p.Stats().LaneInFlight, size)
	release()
	for range size {
		require.NoError(t, <-done)
	}
	until(t, "none is avoided", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.members {
			if m.avoided.Load() {
				return false
			}
		}
		return true
	})
	require.Equal(t, size, sharedIn(p).set.Load().Len())
	for range 2 * looksInSilence {
		p.look(time.Now().Add(time.Hour))
	}
	require.Equal(t, size, sharedIn(p).set.Load().Len(), "idle lanes are not silent ones")
}

// TestBytesPutALaneBack: bytes of a reply that is not complete count, too.
func TestBytesPutALaneBack(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 2, NoSlowLanes: true, Options: patient}, lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	ctx := within(t, 20*time.Second)
	const size = 8 << 20
	require.NoError(t, p.Do(ctx, radix.FlatCmd(nil, "SETRANGE", "large", size-1, "x")))
	until(t, "all lanes are there", func() bool { return sharedIn(p).set.Load().Len() == 2 })
	first := sharedIn(p).set.Load().Lane(0)
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
	p.inspect(time.Now())
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
	until(t, "all lanes are there", func() bool { return sharedIn(p).set.Load().Len() == 2 })
	lost := sharedIn(p).set.Load().Lane(0)
	proxy.Refuse(true)
	lost.Fail(context.DeadlineExceeded)
	until(t, "the lane has left the set", func() bool { return !inSet(p, lost) })
	require.Equal(t, 1, sharedIn(p).set.Load().Len())
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
	require.Zero(t, p.Stats().WaitCount)
}
