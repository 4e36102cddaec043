package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// TestRatios: rounds are compared with the same round of the first endpoint.
func TestRatios(t *testing.T) {
	r := reportOf(t, two, []int{100, 300, 100}, []int{200, 300, 150})
	r.Finish()
	text, err := r.Markdown("ratios req/s")
	require.NoError(t, err)
	require.Equal(t, `| endpoint |        mixed_10keys |
|----------|--------------------:|
| fixed-3  |                1000 |
| laned-4  | 1.50 (1.00 to 2.00) |
`, text)
	text, err = r.Markdown("ratios req/s, P99, CPU/req")
	require.NoError(t, err)
	require.Contains(t, text, "| endpoint |               req/s |                 P99 |             CPU/req |")
	require.Contains(t, text, "| laned-4  | 1.50 (1.00 to 2.00) | 1.00 (1.00 to 1.00) | 0.67 (0.50 to 1.00) |")
	text, err = r.Markdown("ratios req/s of laned 4")
	require.NoError(t, err)
	require.Equal(t, "| run          | laned-4 |\n|--------------|--------:|\n| mixed_10keys |    2000 |\n", text)
	for name, want := range map[string]string{"ratios P98": `no ratios of "P98"`, "ratios": "no such table", "limits": "no such table",
		"ratios req/s of adaptive": "nothing was measured"} {
		_, err := r.Markdown(name)
		require.ErrorContains(t, err, want)
	}
}

// TestFiguresOnly: some columns of some rows.
func TestFiguresOnly(t *testing.T) {
	r := reportOf(t, two, []int{100, 300, 100}, []int{200, 300, 150})
	r.Finish()
	text, err := r.Markdown("only req/s, failed of mixed laned")
	require.NoError(t, err)
	require.Equal(t, `| run          | endpoint | req/s | failed |
|--------------|----------|------:|-------:|
| mixed_10keys | laned-4  |  2167 |    0 % |
`, text)
	_, err = r.Markdown("only P98")
	require.ErrorContains(t, err, `no column "P98"`)
	_, err = r.Markdown("only req/s of adaptive")
	require.ErrorContains(t, err, "no such table")
}

// TestRatiosOfRuns: each run has a row, and so has each step of a load.
func TestRatiosOfRuns(t *testing.T) {
	f, err := settings.Parse("test.yaml", []byte(`{question: "Which?", vary: {callers: [5, 50], pool: [{kind: fixed, size: 3}, {kind: laned}]}}`))
	require.NoError(t, err)
	r := New(f)
	for i, run := range f.Runs {
		began := r.Begin(run)
		for j, e := range began.Endpoints {
			e.Add([]*load.Result{turn(100 * (1 + i) * (1 + j)), turn(100)})
		}
	}
	r.Finish()
	text, err := r.Markdown("ratios req/s")
	require.NoError(t, err)
	require.Equal(t, `| run                      | fixed-3 |             laned-4 |
|--------------------------|--------:|--------------------:|
| callers=5 [1] 5 callers  |    1000 | 2.00 (2.00 to 2.00) |
| callers=5 [2] 5 callers  |    1000 | 1.00 (1.00 to 1.00) |
| callers=50 [1] 5 callers |    2000 | 2.00 (2.00 to 2.00) |
| callers=50 [2] 5 callers |    1000 | 1.00 (1.00 to 1.00) |
`, text)
	_, err = r.Markdown("ratios req/s, P99")
	require.ErrorContains(t, err, "of one run")
	_, err = New(f).Markdown("ratios req/s")
	require.ErrorContains(t, err, "nothing was measured")
}
