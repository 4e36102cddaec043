package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
)

// pausedServer is a simulated server that makes writers wait until resume is
// called, as Redis does in a graceful failover, and answers everything else after
// a millisecond. The time is that of a synctest bubble: how busy the machine is
// must not decide what is silence.
func pausedServer(t *testing.T) (d lanes.Dialer, resume func()) {
	var tasks sync.WaitGroup
	t.Cleanup(tasks.Wait)
	gate := make(chan struct{})
	d.NetDial = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		tasks.Go(func() {
			defer server.Close()
			for in := bufio.NewReader(server); ; {
				name, err := readCommand(in)
				if name == "INCR" {
					<-gate
				}
				time.Sleep(time.Millisecond)
				if err == nil {
					_, err = io.WriteString(server, "+OK\r\n")
				}
				if err != nil {
					return
				}
			}
		})
		return client, nil
	}
	return d, sync.OnceFunc(func() { close(gate) })
}

// pausedKinds have all their connections in flight when there are two callers.
func pausedKinds() map[string]Config {
	return map[string]Config{
		"fixed": Fixed{Size: 2},
		"laned": Laned{Lanes: 2, Strategy: lanes.RoundRobin},
	}
}

// TestPausedServerIsNotStalled: a server that lets writers wait, as in a
// graceful failover, still answers others. What is in flight must get its reply
// in the end.
func TestPausedServerIsNotStalled(t *testing.T) {
	t.Parallel()
	for name, kind := range pausedKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, resume := pausedServer(t)
				defer resume()
				p := simulated(t, kind, d)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				done := make(chan error, 2)
				for range cap(done) {
					go func() { done <- p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")) }()
				}
				for range 9 {
					time.Sleep(time.Second)
					s := p.figures()
					require.Equal(t, 2, s.InFlight)
					require.False(t, s.Down)
				}
				resume()
				for range cap(done) {
					require.NoError(t, <-done)
				}
				require.Zero(t, p.figures().Downs)
			})
		})
	}
}

// TestDeadConnection: a connection without a byte is given up after 10 s, and the server, which answers
// elsewhere, does not count as down.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	for name, kind := range pausedKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, resume := pausedServer(t)
				defer resume()
				p := simulated(t, kind, d)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				began := time.Now()
				err := p.Do(context.Background(), radix.Cmd(nil, "INCR", "k"))
				require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
				require.ErrorIs(t, err, cause.ErrStalled)
				require.InDelta(t, 10, time.Since(began).Seconds(), 0.1)
				require.False(t, p.figures().Down)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.EqualValues(t, 1, p.figures().Closes["stalled"])
			})
		})
	}
}
