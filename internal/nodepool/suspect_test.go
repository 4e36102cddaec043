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
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/lanes"
)

const ms = time.Millisecond

// A holder is a server, in a bubble, that takes all commands and can be told
// which to leave without an answer for the time being, and what comes behind them.
type holder struct {
	mu    sync.Mutex
	cond  *sync.Cond
	holds func(command string) bool
	dials int
	lost  bool // what is dialled
	ends  []net.Conn
	tasks sync.WaitGroup
}

func everything(string) bool         { return true }
func nothing(string) bool            { return false }
func handshakes(command string) bool { return command == "CLIENT" }
func writes(command string) bool     { return command == "INCR" }
func blocking(command string) bool   { return command == "BLPOP" }

// pool returns a pool to the server, which answers everything for now.
func (h *holder) pool(t *testing.T, c Config) *Node {
	h.cond, h.holds = sync.NewCond(&h.mu), nothing
	p, err := New(c, lanes.Dialer{NetDial: h.dial}, "simulated:1", nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		h.hold(nothing)
		require.NoError(t, p.Close())
		h.tasks.Wait()
	})
	return p
}

func (h *holder) hold(which func(command string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = which
	h.cond.Broadcast()
}

func (h *holder) wait(command string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.holds(command) {
		h.cond.Wait()
	}
}

func (h *holder) dialled() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dials
}

func (h *holder) lose(dials bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = dials
}

func (h *holder) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	h.dials++
	lost := h.lost
	h.mu.Unlock()
	if lost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	h.mu.Lock()
	h.ends = append(h.ends, server)
	h.mu.Unlock()
	commands := make(chan string, 1<<10)
	h.tasks.Go(func() {
		defer close(commands)
		for in := bufio.NewReader(server); ; {
			name, err := readCommand(in)
			if err != nil {
				return
			}
			commands <- name
		}
	})
	h.tasks.Go(func() {
		defer server.Close()
		for name := range commands {
			time.Sleep(time.Millisecond)
			h.wait(name)
			if _, err := io.WriteString(server, "+OK\r\n"); err != nil {
				break
			}
		}
		for range commands { // so that the other one ends
		}
	})
	return client, nil
}

var suspiciousKinds = map[string]Config{
	"laned":    Laned{},
	"fixed":    Fixed{Size: 20},
	"adaptive": Adaptive{Min: 2, Max: 20},
}

// incr counts with a deadline, and returns how long that took.
func incr(p *Node, deadline time.Duration) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	err = p.Do(ctx, radix.Cmd(nil, "INCR", "k"))
	return time.Since(began), err
}

// TestSilentServerIsSuspect: with the defaults, calls with a deadline of 100 ms
// take it for 1.1 s at most after the server has frozen. Then they fail at once,
// as not sent, nothing is closed, and the first byte ends it.
func TestSilentServerIsSuspect(t *testing.T) {
	for name, kind := range suspiciousKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				var callers sync.WaitGroup
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				frozen := time.Now().Add(time.Second)
				for range 4 {
					callers.Go(func() {
						for ctx.Err() == nil {
							began := time.Now()
							took, err := incr(p, 100*ms)
							switch after := began.Sub(frozen); {
							case after < -100*ms && err != nil:
								t.Errorf("%v before: %v", -after, err)
							case after > 1100*ms && took > 0:
								t.Errorf("a call that began %v after took %v: %v", after, took, err)
							case after > 1100*ms:
								var down *cause.Down
								require.ErrorAs(t, err, &down)
								require.ErrorIs(t, err, cause.ErrSuspect)
								require.ErrorIs(t, err, redislanes.ErrDown)
								require.ErrorIs(t, err, redislanes.ErrNotSent)
								require.WithinDuration(t, frozen, down.Since, 50*ms)
							}
							time.Sleep(5 * ms)
						}
					})
				}
				time.Sleep(time.Until(frozen))
				h.hold(everything)
				time.Sleep(2 * time.Second)
				stop()
				callers.Wait()
				s := p.figures()
				require.True(t, s.Suspect)
				require.False(t, s.Down)
				require.EqualValues(t, 1, s.Downs)
				require.Empty(t, s.Closes)
				require.NotZero(t, s.InFlight, "what is in flight stays")
				require.ErrorIs(t, dedicateError(t.Context(), p), cause.ErrSuspect)
				require.ErrorIs(t, slowly{p}.do(t.Context(), "GET", "k"), cause.ErrSuspect)

				h.hold(handshakes) // a byte of an old batch is enough
				time.Sleep(10 * ms)
				require.False(t, p.figures().Suspect)
				_, err := incr(p, 100*ms)
				require.NoError(t, err)
				h.hold(nothing)
				require.NoError(t, dedicateError(t.Context(), p))
			})
		})
	}
}

// TestSuspicionEndsInStall: StallTimeout decides when connections are closed, and
// the trouble began when the silence did.
func TestSuspicionEndsInStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{})
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		time.Sleep(time.Minute) // the last byte is long ago
		frozen := time.Now()
		h.hold(everything)
		err := p.Do(t.Context(), radix.Cmd(nil, "INCR", "k"))
		require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, err, cause.ErrStalled)
		require.InDelta(t, p.main.StallTimeout, time.Since(frozen), float64(100*ms))
		synctest.Wait()
		var down *cause.Down
		_, err = incr(p, 100*ms)
		require.ErrorAs(t, err, &down)
		require.ErrorIs(t, err, cause.ErrStalled)
		require.WithinDuration(t, frozen, down.Since, 50*ms)
		require.True(t, p.figures().Down)
		require.False(t, p.figures().Suspect)
		h.hold(nothing)
		time.Sleep(health.MaxBackoff + 10*ms)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
	})
}

// TestBlockedUsersAreNotSilence: a dedicated connection may be silent.
func TestBlockedUsersAreNotSilence(t *testing.T) {
	for name, kind := range suspiciousKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
				h.hold(blocking)
				done := make(chan error, 1)
				go func() {
					conn, err := p.Dedicate(context.Background())
					if err == nil {
						err = conn.Do(context.Background(), radix.Cmd(nil, "BLPOP", "k", "0"))
						conn.Return()
					}
					done <- err
				}()
				time.Sleep(ms * 10)
				before := h.dialled()
				time.Sleep(30 * time.Second)
				s := p.figures()
				require.Zero(t, s.Downs)
				require.Empty(t, s.Closes["stalled"])
				require.Equal(t, before, h.dialled(), "nobody was asked")
				h.hold(nothing)
				require.NoError(t, <-done)
			})
		})
	}
}

// TestIdlePoolDoesNotLook: often, that is.
func TestIdlePoolDoesNotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{})
		time.Sleep(time.Second)
		require.False(t, p.main.attended.Load())
		h.hold(writes)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _ = p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
		time.Sleep(2 * time.Second)
		require.True(t, p.main.attended.Load(), "its caller has left, and the reply is due")
		h.hold(nothing)
		time.Sleep(time.Second)
		require.False(t, p.main.attended.Load())
	})
}
