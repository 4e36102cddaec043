package scenes

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
)

// lines counts the lines of a log that are worth a look, by their messages, and keeps them.
type lines struct {
	mu   sync.Mutex
	of   map[string]int
	text string
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[r.Message]++
	r.Attrs(func(a slog.Attr) bool { l.text += " " + a.String(); return true })
	return nil
}

// TestLogIsBounded: the log has no line for each of many like events, and none for what is over
// in a moment.
func TestLogIsBounded(t *testing.T) {
	for name, trouble := range map[string]func(s *stage){
		"a dead node": func(s *stage) {
			s.node(0).Kill()
			s.repeat(time.Minute, 50*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)) })
		},
		"slots that move": func(s *stage) {
			for i := range 100 {
				s.Move(strconv.Itoa(i), s.node(i%3))
				s.incr(time.Second, strconv.Itoa(i)).ok(time.Second)
				time.Sleep(time.Second) // there is a new map meanwhile
			}
		},
		"slots that are refused for a moment": func(s *stage) {
			for i := range 100 {
				s.inside(0).Refuse(model.Keyed, model.ClusterDown, 1)
				s.incr(time.Second, s.key(0, i)).ok(time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lines{of: make(map[string]int)}
			scene(t, setup{client: cluster.Config{Logger: slog.New(l)}}, func(s *stage) {
				s.warm()
				trouble(s)
			})
			for message, n := range l.of {
				require.LessOrEqual(t, n, 40, "%s: %v", message, l.of)
			}
		})
	}
}
