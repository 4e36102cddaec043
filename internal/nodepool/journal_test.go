package nodepool

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
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
			looked := time.Now()
			p.mu.Lock()
			for _, m := range p.members {
				p.leaveLocked(m, errIdle, true)
			}
			p.mu.Unlock()
			time.Sleep(time.Second)
			require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
			p.mu.Lock()
			require.True(t, p.looked.After(looked))
			p.mu.Unlock()
		}
		p.mu.Lock()
		for range 2 * maxLines {
			p.noteLocked(slog.LevelDebug, "a line")
		}
		require.LessOrEqual(t, len(p.journal.lines), maxLines)
		p.mu.Unlock()
		began := time.Now()
		require.NoError(t, p.Close())
		require.LessOrEqual(t, time.Since(began), closePatience)
		close(log.release)
	})
}
