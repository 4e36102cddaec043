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

	"github.com/redislanes/redislanes/lanes"
)

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
		p, err := New(Laned{Lanes: 1}, unreachable(simulatedServer(t, time.Millisecond), &refuse, &silent), "simulated:1", book.from(slog.LevelInfo))
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
		p.main.dials.failedLocked(errors.New("nobody listens"))
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
