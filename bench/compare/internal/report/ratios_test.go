package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// TestMarkdown: rounds are compared with the same round of the first endpoint. Each run has a
// row, and so has each step of a load.
func TestMarkdown(t *testing.T) {
	rounds := reportOf(t, two, []int{100, 300, 100}, []int{200, 300, 150})
	f, err := settings.Parse("test.yaml", []byte(`{question: "Which?", vary: {callers: [5, 50], pool: [{kind: fixed, size: 3}, {kind: laned}]}}`))
	require.NoError(t, err)
	steps, none := New(f), New(f)
	for i, run := range f.Runs {
		for j, e := range steps.Begin(run).Endpoints {
			e.Add([]*load.Result{turn(100 * (1 + i) * (1 + j)), turn(100)})
		}
	}
	rounds.Finish()
	steps.Finish()
	for _, test := range []struct {
		of         *Report
		name, want string
	}{
		{rounds, "ratios req/s", `| endpoint |        mixed_10keys |
|----------|--------------------:|
| fixed-3  |                1000 |
| laned-4  | 1.50 (1.00 to 2.00) |
`},
		{rounds, "ratios req/s, P99, CPU/req", `| endpoint |               req/s |                 P99 |             CPU/req |
|----------|--------------------:|--------------------:|--------------------:|
| fixed-3  |                1000 |                 1ms |                10ms |
| laned-4  | 1.50 (1.00 to 2.00) | 1.00 (1.00 to 1.00) | 0.67 (0.50 to 1.00) |
`},
		{rounds, "ratios req/s of laned 4", "| run          | laned-4 |\n|--------------|--------:|\n| mixed_10keys |    2000 |\n"},
		{steps, "ratios req/s", `| run                      | fixed-3 |             laned-4 |
|--------------------------|--------:|--------------------:|
| callers=5 [1] 5 callers  |    1000 | 2.00 (2.00 to 2.00) |
| callers=5 [2] 5 callers  |    1000 | 1.00 (1.00 to 1.00) |
| callers=50 [1] 5 callers |    2000 | 2.00 (2.00 to 2.00) |
| callers=50 [2] 5 callers |    1000 | 1.00 (1.00 to 1.00) |
`},
		{rounds, "only req/s, failed of mixed laned", `| run          | endpoint | req/s | failed |
|--------------|----------|------:|-------:|
| mixed_10keys | laned-4  |  2167 |    0 % |
`},
	} {
		text, err := test.of.Markdown(test.name)
		require.NoError(t, err)
		require.Equal(t, test.want, text)
	}
	for name, want := range map[string]string{"ratios P98": `no ratios of "P98"`, "ratios": "no such table", "limits": "no such table",
		"ratios req/s of adaptive": "nothing was measured", "only P98": `no column "P98"`, "only req/s of adaptive": "no such table"} {
		_, err := rounds.Markdown(name)
		require.ErrorContains(t, err, want)
	}
	_, err = steps.Markdown("ratios req/s, P99")
	require.ErrorContains(t, err, "of one run")
	_, err = none.Markdown("ratios req/s")
	require.ErrorContains(t, err, "nothing was measured")
}
