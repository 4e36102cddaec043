package scenes

import (
	"bytes"
	"log/slog"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
)

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
			var log bytes.Buffer
			scene(t, setup{client: cluster.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}}, func(s *stage) {
				s.warm()
				trouble(s)
			})
			lines := make(map[string]int) // by what they say
			for _, message := range regexp.MustCompile(`msg=("[^"]*"|\S+)`).FindAllString(log.String(), -1) {
				lines[message]++
				require.LessOrEqual(t, lines[message], 40, log.String())
			}
		})
	}
}
