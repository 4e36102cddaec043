package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// turn is one round of so many requests of a millisecond, in a tenth of a second.
func turn(requests int) *load.Result {
	r := load.NewResult()
	r.Callers, r.Requests, r.Took, r.CPU, r.Mallocs = 5, int64(requests), 100*time.Millisecond, time.Second, 1000
	_ = r.Fast.RecordValues(int64(time.Millisecond), int64(requests))
	return r
}

// reportOf is a report of the file with so many requests in each round of each
// endpoint.
func reportOf(t *testing.T, file string, rounds ...[]int) *Report {
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := New(f)
	run := r.Begin(f.Runs[0])
	for i, requests := range rounds {
		for _, n := range requests {
			run.Endpoints[i].Add([]*load.Result{turn(n)})
		}
	}
	return r
}

const two = `{question: "Which?", vary: {pool: [{kind: fixed, size: 3}, {kind: laned}]}}`

func TestTable(t *testing.T) {
	r := reportOf(t, two, []int{100, 300}, []int{1000})
	r.Runs[0].Endpoints[1].Phases[0].sum.Errors["not sent"] = load.Failure{Count: 7, Example: "a|b"}
	r.Runs[0].Endpoints[1].Phases[0].sum.Use.MaxWaiters = 12
	r.Interrupted = true
	r.Finish()
	var out bytes.Buffer
	r.WriteTable(&out)
	text := out.String()
	require.True(t, strings.HasPrefix(text, "Which?\n\ntest.yaml: "))
	require.Contains(t, text, "| mixed_10keys | fixed-3  |      400 |      0 |  2000 | 1ms | 1ms | 1ms | 1ms |   1ms |     5ms |        5.0 |           0 |       0.00 |")
	require.Contains(t, text, "| mixed_10keys | laned-4  |     1000 |      7 | 10000 | ")
	require.Contains(t, text, `| not sent | a\|b `)
	require.Contains(t, text, "|          12 |       0.00 |")
	require.Contains(t, text, "interrupted: ")
	require.NotContains(t, text, "Connections, all nodes")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| mixed_10keys | fixed-3") {
			require.Equal(t, 15, strings.Count(line, "|"))
		}
	}
}

// TestWhatWasNotMeasuredIsLeftOut: the second endpoint's turn never came.
func TestWhatWasNotMeasuredIsLeftOut(t *testing.T) {
	r := reportOf(t, two, []int{100})
	r.Finish()
	require.Len(t, r.Runs[0].Endpoints, 1)
	empty := reportOf(t, two)
	empty.Finish()
	require.Empty(t, empty.Runs)
	var out bytes.Buffer
	empty.WriteTable(&out)
	empty.WriteStatistics(&out)
	require.NoError(t, empty.WriteJSON(&out))
	require.Contains(t, out.String(), `"runs": []`)
}

// TestTestsLeavePartialRoundsOut compares four whole rounds, not the fifth that
// was cut short.
func TestTestsLeavePartialRoundsOut(t *testing.T) {
	r := reportOf(t, two, []int{1, 2, 3, 4}, []int{5, 6, 7, 8})
	partial := turn(1)
	partial.Partial = true
	r.Runs[0].Endpoints[1].Add([]*load.Result{partial})
	r.Finish()
	test := r.Runs[0].Endpoints[1].Phases[0].Tests["req/s"]
	require.Equal(t, [2]int{4, 4}, test.N)
	require.InDelta(t, 2./70, test.P, 1e-9)
	require.InDelta(t, 2.6, test.Ratio, 1e-9)
	require.Empty(t, r.Runs[0].Endpoints[0].Phases[0].Tests)
	var out bytes.Buffer
	r.WriteStatistics(&out)
	require.Contains(t, out.String(), "2.60 x | 0.029 |   4, 4 |     yes |")
}

func TestFastAndSlowApart(t *testing.T) {
	r := reportOf(t, two)
	mixed := turn(100)
	_ = mixed.Slow.RecordValues(int64(time.Second), 10)
	mixed.Requests += 10
	r.Runs[0].Endpoints[0].Add([]*load.Result{mixed})
	r.Finish()
	p := r.Runs[0].Endpoints[0].Phases[0]
	require.EqualValues(t, 110, p.Latency.Count)
	require.EqualValues(t, 100, p.Fast.Count)
	require.EqualValues(t, 10, p.Slow.Count)
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "| fixed-3, fast |      100 |")
	require.Contains(t, out.String(), "| fixed-3, slow |       10 |")
}

// TestJSON reads back what was written.
func TestJSON(t *testing.T) {
	r := reportOf(t, two, []int{100}, []int{200})
	r.Finish()
	var out bytes.Buffer
	require.NoError(t, r.WriteJSON(&out))
	var back Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, "Which?", back.Question)
	require.InDelta(t, 2000, back.Runs[0].Endpoints[1].Phases[0].Rate, 1e-9)
	require.Equal(t, settings.Value{Key: "scenario", Value: "mixed_10keys"}, back.Runs[0].Endpoints[0].Settings[0])
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 5: "5ns", 1234: "1.23µs", 12345: "12.3µs", 123456: "123µs", 1234567: "1.23ms", 61234567890: "1m1.2s",
	} {
		require.Equal(t, want, duration(d))
	}
}
