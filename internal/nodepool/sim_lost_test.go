package nodepool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

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

// TestLostLanesAreNoLoad: what was in flight on lanes that broke is no part of the
// load any more, nor is what an abandoned call left on them.
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

// TestDownTellsWhyItCannotBeDialled: connections break one by one while the server
// refuses the password of new ones. That is the cause, which does not get better,
// and not the end of the last connection.
func TestDownTellsWhyItCannotBeDialled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := simulatedServer(t, time.Millisecond)
		d.Password = "old"
		var refuses atomic.Bool
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !refuses.Load() {
				return dial(ctx, network, addr)
			}
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				_, _ = readCommand(bufio.NewReader(server))
				_, _ = io.WriteString(server, "-WRONGPASS no\r\n")
			}()
			return client, nil
		}
		p, err := New(Fixed{Size: 2, Options: patient}, d, "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(time.Second)
		p.main.mu.Lock()
		members := append([]*member(nil), p.main.members...)
		p.main.mu.Unlock()
		require.Len(t, members, 2)
		refuses.Store(true)
		for _, m := range members {
			m.lane.Fail(io.EOF)
			synctest.Wait()
		}
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), &refused)
		require.Equal(t, "AUTH", refused.Command)
		require.EqualValues(t, 1, p.Stats().DialErrors)
	})
}
