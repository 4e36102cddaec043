package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRefreshesAreSpaced: with hints all the time, the first refreshes follow each other fast, and the later
// ones slowly, until it was calm for a while.
func TestRefreshesAreSpaced(t *testing.T) {
	t.Parallel()
	var p pacer
	now := time.Unix(1000, 0)
	for range 3 {
		now = now.Add(time.Minute)
		for i := range 20 {
			gap, least := p.after(now), 500*time.Millisecond
			if i < quickRefreshes {
				least = 50 * time.Millisecond
			}
			require.True(t, least <= gap && gap < least+refreshJitter, "refresh %d after %v", i, gap)
			now = now.Add(gap)
		}
	}
}
