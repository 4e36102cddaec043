package nodepool

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
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

// A stuckLog is a slog.Handler that does not return before it is released.
type stuckLog struct{ release chan struct{} }

func (l stuckLog) Enabled(context.Context, slog.Level) bool  { return true }
func (l stuckLog) Handle(context.Context, slog.Record) error { <-l.release; return nil }
func (l stuckLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l stuckLog) WithGroup(string) slog.Handler             { return l }

// TestStuckLog: a log that does not return holds up neither callers, nor looks, nor
// Close for longer than its time.
func TestStuckLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuckLog{make(chan struct{})}
		p, err := New(Adaptive{Min: 1, Max: 4}, simulatedServer(t, time.Millisecond), "simulated:1", slog.New(log))
		require.NoError(t, err)
		for range 3 {
			for _, err := range crowd(t, p, 20) {
				require.NoError(t, err)
			}
			p.main.mu.Lock()
			for _, m := range p.main.members {
				p.main.leaveLocked(m, errIdle, true)
			}
			p.main.mu.Unlock()
			time.Sleep(time.Second)
			require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		}
		began := time.Now()
		require.NoError(t, p.Close())
		require.LessOrEqual(t, time.Since(began), ClosePatience)
		close(log.release)
	})
}

// TestStuckLogOfPanics: whoever calls a user's function that panics does not wait for the
// log, which says so.
func TestStuckLogOfPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuckLog{make(chan struct{})}
		o := hearing(func(redislanes.WaitInfo) { panic("boom") })
		p, err := New(Fixed{Size: 1, Options: o}, simulatedServer(t, time.Millisecond), "simulated:1", slog.New(log))
		require.NoError(t, err)
		began := time.Now()
		for _, err := range crowd(t, p, 10) { // all but one wait
			require.NoError(t, err)
		}
		require.Less(t, time.Since(began), time.Second)
		require.NoError(t, p.Close())
		close(log.release)
	})
}

// A logbook keeps the lines of a log from a level on, without their times and the
// address of the server.
type logbook struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logbook) from(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(lockedWriter{&b.mu, &b.text}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "addr" && a.Value.String() == "simulated:1" {
			return slog.Attr{}
		}
		return a
	}}))
}

// lines returns those that were written since the last time, in a bubble.
func (b *logbook) lines() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	if b.text.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(b.text.String()), "\n")
}

// unreachable returns the dialer with dials that fail while refuse is set, and get no
// answer while silent is.
func unreachable(d lanes.Dialer, refuse, silent *atomic.Bool) lanes.Dialer {
	dial := d.NetDial
	d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		switch {
		case refuse.Load():
			return nil, errors.New("nobody listens")
		case silent.Load():
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, addr)
	}
	return d
}

// TestLogOfAServerThatIsDown: it is one line when the server goes down, one when it is
// back, and in between not one for each dial that fails.
func TestLogOfAServerThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse, silent atomic.Bool
		refuse.Store(true)
		book := new(logbook)
		p, err := New(Laned{Lanes: 2}, unreachable(simulatedServer(t, time.Millisecond), &refuse, &silent), "simulated:1", book.from(slog.LevelInfo))
		require.NoError(t, err)
		defer p.Close()
		require.Error(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		require.Equal(t, []string{
			`level=WARN msg="dial failed" failures=1 error="simulated:1: nobody listens"`,
			`level=WARN msg="server down" error="simulated:1: nobody listens" commands="fail at once"`,
		}, book.lines())
		time.Sleep(time.Minute)
		failures := int(p.figures().DialErrors)
		lines := book.lines()
		require.Greater(t, failures, 60)
		require.GreaterOrEqual(t, len(lines), 9)
		require.LessOrEqual(t, len(lines), 12)
		for _, line := range lines {
			require.Contains(t, line, `msg="dial failed" failures=`)
		}
		refuse.Store(false)
		time.Sleep(2 * time.Second)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		lines = book.lines()
		require.Contains(t, lines[len(lines)-1], `level=INFO msg="server up again" after=1m`)
		require.LessOrEqual(t, len(lines), 2)
		time.Sleep(time.Minute)
		require.Empty(t, book.lines(), "a healthy server is worth none")
		p.main.mu.Lock()
		p.main.noteDialFailedLocked(errors.New("nobody listens"))
		p.main.mu.Unlock()
		require.Equal(t, []string{`level=WARN msg="dial failed" failures=1 error="nobody listens"`}, book.lines(), "what was before is over")
	})
}

// TestLogOfPoolsInside: they see the same server, and tell of it on level debug.
func TestLogOfPoolsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse, silent atomic.Bool
		book := new(logbook)
		p, err := New(Laned{Lanes: 1}, unreachable(simulatedServer(t, time.Millisecond), &refuse, &silent), "simulated:1", book.from(slog.LevelDebug))
		require.NoError(t, err)
		defer p.Close()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		require.Empty(t, book.lines())
		refuse.Store(true)
		_, err = p.Dedicate(t.Context())
		require.Error(t, err)
		lines := book.lines()
		require.Contains(t, lines, `level=DEBUG msg="dial failed" failures=1 error="simulated:1: nobody listens"`)
		for _, line := range lines {
			require.Contains(t, line, "level=DEBUG")
		}
	})
}

// TestLogOfAServerThatIsNotUsedAnyMore: that a server is down ends in the log when it
// is the cluster's no longer.
func TestLogOfAServerThatIsNotUsedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse, silent atomic.Bool
		refuse.Store(true)
		book := new(logbook)
		dialer := unreachable(simulatedServer(t, time.Millisecond), &refuse, &silent)
		p, err := New(Laned{Lanes: 1}, dialer, "simulated:1", book.from(slog.LevelInfo))
		require.NoError(t, err)
		defer p.Close()
		require.Error(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		require.Contains(t, book.lines(), `level=WARN msg="server down" error="simulated:1: nobody listens" commands="fail at once"`)
		time.Sleep(time.Second)
		_ = book.lines() // of further dials
		p.Retire()
		require.Equal(t, []string{`level=INFO msg="server not used any more" after=1s`}, book.lines())

		refuse.Store(false)
		up, err := New(Laned{Lanes: 1}, dialer, "simulated:1", book.from(slog.LevelInfo))
		require.NoError(t, err)
		defer up.Close()
		require.NoError(t, up.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		up.Retire()
		require.Empty(t, book.lines())
	})
}

// TestLogOfASilentServer: when it is suspect, and for how long it was.
func TestLogOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse, silent atomic.Bool
		book := new(logbook)
		p, err := New(Laned{Lanes: 1}, unreachable(simulatedServer(t, 2*time.Second), &refuse, &silent), "simulated:1", book.from(slog.LevelInfo))
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(time.Second)
		silent.Store(true)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		time.Sleep(time.Second)
		lines := book.lines()
		require.Len(t, lines, 2)
		require.Equal(t, `level=WARN msg="server suspect: silent, and no answer over another connection" commands="fail at once"`, lines[0])
		require.Regexp(t, `^level=INFO msg="server not suspect any more" after=(1\.9|2)`, lines[1])
	})
}
