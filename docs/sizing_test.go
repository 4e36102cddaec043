package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/sizing"
)

// TestSizingPage: the computed figures of sizing.md are those of package sizing.
func TestSizingPage(t *testing.T) {
	text, err := os.ReadFile("sizing.md")
	require.NoError(t, err)
	page := string(text)
	const rate, trip = 12_000, 1200 * time.Microsecond
	require.Contains(t, page, fmt.Sprintf("= %.1f connections", sizing.RequestsInFlight(rate, trip)))
	for _, size := range []int{15, 18, 24, 30} {
		wait := sizing.ExpectedWait(rate, trip, size)
		waiting := time.Duration(float64(trip) / (float64(size) - sizing.RequestsInFlight(rate, trip)))
		share := 100 * float64(wait) / float64(waiting)
		shown := fmt.Sprintf("%.0f", share)
		if share < 0.5 {
			shown = fmt.Sprintf("%.2f", share)
		}
		round := time.Microsecond
		if wait > time.Millisecond {
			round = 10 * time.Microsecond
		}
		row := fmt.Sprintf("| %d | %.2f | %s %% | %s | %s |", size, sizing.Utilization(rate, trip, size), shown,
			spaced(wait.Round(round)), spaced(waiting.Round(time.Microsecond)))
		require.Contains(t, page, row)
	}
	for _, slow := range []float64{0.1, 1, 5} {
		row := fmt.Sprintf("| %v %% |", slow)
		for _, lanes := range []int{1, 4, 16} {
			row += fmt.Sprintf(" %.3f |", sizing.BlockedShare(1000*slow/100, 10*time.Millisecond, lanes))
		}
		require.Contains(t, page, row)
	}
}

// spaced prints a duration as the page does.
func spaced(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return strings.NewReplacer("ms", " ms", "µs", " µs").Replace(d.String())
}
