package nodepool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/lanes"
)

// A brief server answers so many commands on each connection after the greeting,
// and hangs up a while after the last one.
type brief struct {
	commands int
	after    time.Duration

	dials atomic.Int64
	well  atomic.Bool // it answers everything
	tasks sync.WaitGroup
}

func (b *brief) dial(context.Context, string, string) (net.Conn, error) {
	b.dials.Add(1)
	time.Sleep(50 * time.Microsecond)
	client, server := net.Pipe()
	b.tasks.Go(func() { b.serve(server) })
	return client, nil
}

func (b *brief) serve(conn net.Conn) {
	defer conn.Close()
	left := b.commands + 2 // the greeting
	for in := bufio.NewReader(conn); left > 0 || b.well.Load(); left-- {
		if _, err := readCommand(in); err != nil {
			return
		}
		if _, err := io.WriteString(conn, "+OK\r\n"); err != nil {
			return
		}
	}
	time.Sleep(b.after)
}

// TestNoDialStorm counts the dials of two seconds to servers that answer the
// greeting, or a little more, and hang up.
func TestNoDialStorm(t *testing.T) {
	for kind, config := range map[string]Config{
		"fixed": Fixed{Size: DefaultSize}, "laned": Laned{},
	} {
		for name, server := range map[string]*brief{
			"after the greeting":    {},
			"10 ms after it":        {after: 10 * time.Millisecond},
			"after a command":       {commands: 1},
			"at the second command": {commands: 1, after: time.Millisecond},
			"150 ms after it":       {after: 150 * time.Millisecond},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { storm(t, config, server) })
			})
		}
	}
}

func storm(t *testing.T, config Config, server *brief) {
	p, err := New(config, lanes.Dialer{NetDial: server.dial}, "brief:1", nil)
	require.NoError(t, err)
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var unknown atomic.Int64
	for range 5 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := p.Do(ctx, radix.Cmd(nil, "INCR", "k")); errors.Is(err, redislanes.ErrUnknownOutcome) {
					unknown.Add(1)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	time.Sleep(2 * time.Second)
	dials := server.dials.Load()
	bound := 50
	if s := p.figures(); server.commands > 0 || server.after > 0 {
		bound += s.Target // it may have that many before the first one is closed
	}
	assert.LessOrEqual(t, dials, int64(bound))
	consistent(t, p)
	server.well.Store(true)
	time.Sleep(4 * time.Second)
	assert.Equal(t, p.figures().Target, p.figures().Open, "all is well again")
	assert.NoError(t, p.Do(ctx, radix.Cmd(nil, "INCR", "k")))
	cancel()
	callers.Wait()
	require.NoError(t, p.Close())
	server.tasks.Wait()
	t.Logf("%d dials in 2 s, %d unknown outcomes", dials, unknown.Load())
	if server.commands == 0 {
		assert.LessOrEqual(t, unknown.Load(), int64(2*health.MaxDials), "new connections must prove themselves")
	}
}

// TestReapedConnections: a proxy that closes connections which have been idle for
// some seconds is no server that is down, and each is replaced at once.
func TestReapedConnections(t *testing.T) {
	for name, kind := range map[string]Config{"fixed": Fixed{Size: 3}, "laned": Laned{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proxy := &brief{after: 3 * time.Second}
				p, err := New(kind, lanes.Dialer{NetDial: proxy.dial}, "proxy:1", nil)
				require.NoError(t, err)
				for range 500 {
					time.Sleep(100 * time.Millisecond)
					s := p.figures()
					assert.False(t, s.Down)
					assert.Equal(t, s.Size, s.Open+s.Dialing)
				}
				assert.Zero(t, p.figures().Downs)
				assert.Zero(t, p.figures().DialErrors)
				require.NoError(t, p.Close())
				proxy.tasks.Wait()
			})
		})
	}
}

// TestRenewalsAreSpaced: a server that keeps saying that it is a replica makes the pool replace its
// connections once a second at most.
func TestRenewalsAreSpaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Fixed{Size: 5}, time.Millisecond)
		for range 60 {
			time.Sleep(100 * time.Millisecond)
			w.Renew(time.Time{})
		}
		s := w.figures()
		require.LessOrEqual(t, s.Closes["renewed"], uint64(5*7))
		time.Sleep(time.Minute)
		before := s.Closes["renewed"]
		w.Renew(time.Time{})
		synctest.Wait()
		require.Equal(t, before+5, w.figures().Closes["renewed"], "after a quiet time, at once")
	})
}

// TestRefusalsThatPass: a server that refuses the handshake for now is dialled again as
// one that cannot be reached, and one that refuses it for good slowly.
func TestRefusalsThatPass(t *testing.T) {
	for text, quick := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                true,
		"ERR max number of clients + cluster connections reached":       true,
		"WRONGPASS invalid username-password pair or user is disabled.": false,
		"NOAUTH Authentication required.":                               false,
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials atomic.Int32
			dial := func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					_, _ = bufio.NewReader(theirs).ReadString('\n')
					_, _ = io.WriteString(theirs, "-"+text+"\r\n")
				}()
				return ours, nil
			}
			p := simulated(t, Laned{Lanes: 1}, lanes.Dialer{NetDial: dial, NoSetInfo: true})
			var refused *redislanes.HandshakeError
			require.ErrorAs(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), &refused)
			time.Sleep(400 * time.Millisecond)
			require.Equal(t, quick, dials.Load() > 2, "%s: %d dials", text, dials.Load())
		})
	}
}

// TestBusyServerIsUsedSoon: a server that answers each dial with BUSY or LOADING is used within
// 100 ms once it has finished, however long it took.
func TestBusyServerIsUsedSoon(t *testing.T) {
	texts := []string{"BUSY Redis is busy running a script.", "LOADING Redis is loading the dataset in memory"}
	for _, text := range slices.Repeat(texts, 5) { // pauses have a random part
		synctest.Test(t, func(t *testing.T) {
			var finished atomic.Bool
			dial := func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					for in := bufio.NewReader(theirs); ; {
						for range 3 { // the lines of PING
							if _, err := in.ReadString('\n'); err != nil {
								return
							}
						}
						reply := "-" + text + "\r\n"
						if finished.Load() {
							reply = "+PONG\r\n"
						}
						_, _ = io.WriteString(theirs, reply)
					}
				}()
				return ours, nil
			}
			p := simulated(t, Laned{Lanes: 1}, lanes.Dialer{NetDial: dial, NoSetInfo: true})
			require.Error(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
			time.Sleep(30 * time.Second)
			finished.Store(true)
			time.Sleep(101 * time.Millisecond)
			require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), text)
		})
	}
}
