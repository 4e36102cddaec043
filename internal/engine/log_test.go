package engine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
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

// TestLogOfMoves: a map with other owners is one line, however many there are.
func TestLogOfMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newLogbook()
		c := newClient(Config{}.withDefaults(), []string{"a:1"})
		c.log = book.log
		nodes := make([]*node, 20)
		for i := range nodes {
			nodes[i] = &node{addr: fmt.Sprintf("n:%02d", i)}
		}
		use := func(owner func(slot int) int) []string {
			m := &topology{Nodes: nodes}
			for slot := range m.Owner {
				m.Owner[slot] = slots.NoOwner
				if i := owner(slot); i >= 0 {
					m.Owner[slot] = uint16(i)
				}
			}
			c.topology.Store(m)
			c.refresher.noteChanges()
			return book.lines()
		}
		at := func(i int) func(int) int { return func(int) int { return i } }
		require.Empty(t, use(at(0)), "the first map")
		require.Empty(t, use(at(0)))
		require.Equal(t, []string{`level=INFO msg="slots moved" slots=102`}, use(func(slot int) int {
			switch {
			case slot < 100:
				return 1
			case slot < 102:
				return -1
			}
			return 0
		}))
		for i := range 20 { // one slot after the other, for four seconds
			time.Sleep(200 * time.Millisecond)
			require.Empty(t, use(func(slot int) int { return min(slot/(i+1), 1) }), "one line in five seconds")
		}
		require.Empty(t, use(at(2)))
		time.Sleep(time.Second)
		require.Contains(t, use(at(3))[0], "slots moved")
		time.Sleep(5 * time.Second)
		lines := use(func(slot int) int { return slot % 20 })
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "slots moved")
		c.cancel()
	})
}
