package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReceiversAreFoundQuickly: looking for the receiver of each of 40,000
// commands took 800 million steps, a second.
func TestReceiversAreFoundQuickly(t *testing.T) {
	t.Parallel()
	const n = 40_000
	steps := 0
	for i := range 2 * n {
		at := search(n, i, func(k int) int { steps++; return 2 * k })
		require.Equal(t, (i+1)/2, at)
	}
	require.Less(t, steps, 2*n*17)
}
