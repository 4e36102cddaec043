package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
)

// A logbook keeps the lines of a log, without their times.
type logbook struct {
	text bytes.Buffer
	log  *guard.Log
}

func newLogbook() *logbook {
	b := new(logbook)
	b.log = guard.NewLog(slog.New(slog.NewTextHandler(&b.text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	return b
}

// lines returns those that were written since the last time, in a bubble of
// synctest.
func (b *logbook) lines() []string {
	synctest.Wait()
	defer b.text.Reset()
	if b.text.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(b.text.String()), "\n")
}

// TestLogOfOutages: an outage is worth a line once it has lasted for a second and a command meets
// it still, and one when it is over.
func TestLogOfOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newLogbook()
		c := newClient(Config{}.withDefaults(), []string{"a:1"})
		c.log = book.log
		refused := func() { c.refused(fate.Down, []byte("LOADING x"), "a:1", 1, false, time.Now()) }
		refused()
		time.Sleep(time.Second - 1)
		refused()
		require.Empty(t, book.lines(), "it has not lasted for a second")
		time.Sleep(time.Nanosecond)
		refused()
		refused()
		require.Equal(t, []string{`level=WARN msg=outage where="node a:1" for=1s commands=LOADING requests="are retried within RetryWindow, then fail at once"`}, book.lines())
		time.Sleep(time.Second)
		c.answered("a:1", 1, false)
		c.answered("a:1", 1, false)
		require.Equal(t, []string{`level=INFO msg="outage over" where="node a:1" after=2s`}, book.lines())
	})
}

// TestLogOfRefreshes: those that fail are told of now and then, with their number.
func TestLogOfRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newLogbook()
		c := newClient(Config{}.withDefaults(), []string{"a:1"})
		c.log = book.log
		c.refresher.noteRefreshed(nil)
		require.Empty(t, book.lines())
		for range 12 {
			c.refresher.noteRefreshed(errors.New("nobody answers"))
			time.Sleep(500 * time.Millisecond)
		}
		c.refresher.noteRefreshed(nil)
		c.refresher.noteRefreshed(nil)
		time.Sleep(time.Minute)
		c.refresher.noteRefreshed(errors.New("nobody answers"))
		require.Equal(t, []string{
			`level=WARN msg="refresh failed" failures=1 error="nobody answers"`,
			`level=WARN msg="refresh failed" failures=10 error="nobody answers"`,
			`level=INFO msg="refresh succeeded again" after=6s`,
			`level=WARN msg="refresh failed" failures=1 error="nobody answers"`,
		}, book.lines())
		c.cancel()
	})
}

// TestLogOfMoves: a map with other owners is one line, however many there are, and one in five seconds.
func TestLogOfMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newLogbook()
		c := newClient(Config{}.withDefaults(), []string{"a:1"})
		c.log = book.log
		nodes := []*node{{addr: "a:1"}, {addr: "b:1"}}
		use := func(moved int) []string { // the first slots are those of the second node
			m := &topology{Nodes: nodes}
			for slot := range moved {
				m.Owner[slot] = 1
			}
			c.topology.Store(m)
			c.refresher.noteChanges()
			return book.lines()
		}
		require.Empty(t, use(0), "the first map")
		require.Empty(t, use(0))
		require.Equal(t, []string{`level=INFO msg="slots moved" slots=102`}, use(102))
		for i := range 20 {
			time.Sleep(200 * time.Millisecond)
			require.Empty(t, use(103+i))
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{`level=INFO msg="slots moved" slots=21`}, use(123))
		c.cancel()
	})
}
