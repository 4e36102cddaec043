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
func inSet(p *Node, l *wire.Lane) bool {
	set := sharedIn(p).fast.set.Load()
	for i := range set.Len() {
		if set.Lane(i) == l {
			return true
		}
	}
	return false
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
