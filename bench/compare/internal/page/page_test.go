package page

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// measured is a report of an open loop at two rates, in which the smaller pool
// fails at the highest one.
func measured(t *testing.T) *report.Report {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(`
question: Which <size> & rate?
callers: 50
round_trip: 1ms
sla: 5ms
vary:
  rate: [1000, 40000]
  pool: [{kind: fixed, size: 2}, {kind: fixed, size: 16}, {kind: laned}]
`))
	require.NoError(t, err)
	r := report.New(f)
	for _, s := range f.Runs {
		run := r.Begin(s)
		for i, e := range s.Endpoints {
			all := int64(e.Load.Rate)
			failed := int64(0)
			if e.Load.Pool.Size == 2 && all > 1000 {
				failed = all / 2
			}
			result := load.NewResult()
			result.Callers, result.Took, result.Requests = e.Load.Callers, time.Second, all-failed
			for v := range int64(100) {
				took := int64(i*i+1) * (v + 1) * (v + 1) * 100 * (1 + all/1000)
				require.NoError(t, result.Writes.RecordValues(took, result.Requests/100))
			}
			if failed > 0 {
				result.Errors["exhausted"] = load.Failure{Count: failed, Example: "pool <exhausted>"}
			}
			run.Endpoints[i].Add([]*load.Result{result})
		}
	}
	r.Finish()
	return r
}

// TestPage has all tables and plots, and texts that cannot be taken for markup.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(measured(t), &b))
	text := b.String()
	for _, want := range []string{
		"<h1>Which &lt;size&gt; &amp; rate?</h1>", "<h2>Figures</h2>", "<h2>How many requests a second hold",
		"<h2>The fewest connections to each node", "<h2>Errors,", "<h2>What it used", "pool &lt;exhausted&gt;",
		"More than 1 % of the requests failed", ">Over rate, 50 callers, round trip +1ms<", `<tr class="bad">`,
		"Over the size of the pool: rate=1000", "<td>breaking</td>",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "<size>")
	require.Equal(t, 2, bytes.Count(b.Bytes(), []byte("<details")))
}

// TestNothingMeasured is a page all the same.
func TestNothingMeasured(t *testing.T) {
	f, err := settings.Parse("test.yaml", []byte("{}"))
	require.NoError(t, err)
	r := report.New(f)
	r.Failure = "no server"
	r.Finish()
	var b bytes.Buffer
	require.NoError(t, Write(r, &b))
	require.Contains(t, b.String(), "<strong>ended early: no server</strong>")
	require.Contains(t, b.String(), "Nothing was measured.")
}
