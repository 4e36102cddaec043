package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/attempt"
)

// TestLeft: how long a command may be sent again bounds its backoff. An outage may begin after the
// time of the judgement, since another call has just met it.
func TestLeft(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		lasted, window, want time.Duration
	}{
		"within the window":            {400 * time.Millisecond, time.Second, 600 * time.Millisecond},
		"after the window":             {1400 * time.Millisecond, time.Second, -400 * time.Millisecond},
		"just met":                     {-time.Microsecond, time.Second, time.Second},
		"without an end":               {time.Second, WhileContextLasts, WhileContextLasts - time.Second},
		"without an end, and just met": {-time.Microsecond, WhileContextLasts, WhileContextLasts},
	} {
		met := &outage{Outage: attempt.Outage{Since: now.Add(-c.lasted)}}
		x := retry{client: &Client{cfg: Config{RetryWindow: c.window}}, histories: []history{{outage: met}, {}}}
		require.Equal(t, c.want, x.left(0, now), name)
		require.Equal(t, attempt.MaxBackoff, x.left(1, now), "it has met none")
	}
}
