package raw

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// measured writes a report and the lines of it.
func measured(t *testing.T, file string) (r *report.Report, lines string) {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r = report.New(f)
	var b bytes.Buffer
	w := NewWriter(&b)
	w.Start(f, r.Machine)
	for i, s := range f.Runs {
		run := r.Begin(s)
		for j, e := range s.Endpoints {
			for round := range s.Rounds {
				var phases []*load.Result
				for range e.Load.Phases() {
					result := load.NewResult()
					result.Callers, result.Requests, result.Took = e.Load.Callers, 100, time.Second
					require.NoError(t, result.Writes.RecordValues(int64(i+j+round+1)*1e6, 100))
					result.Use.Samples = []load.Sample{{Open: j}}
					phases = append(phases, result)
				}
				run.Endpoints[j].Add(phases)
				w.Turn(s.Name, e.Name, phases)
			}
		}
	}
	r.Machine.Redis = []string{"7.0.15"}
	require.NoError(t, w.End(r))
	r.Finish()
	return r, b.String()
}

func tables(r *report.Report) string {
	var b bytes.Buffer
	r.WriteTable(&b)
	r.WriteStatistics(&b)
	return b.String()
}

// TestTheSameAgain: the report of the lines is that which they were written of.
func TestTheSameAgain(t *testing.T) {
	for _, file := range []string{
		`{question: "Which?", vary: {round_trip: [0, 1ms], pool: [{kind: laned}, {kind: fixed, size: 3}]}}`,
		"steps: [{callers: 1, for: 1s}, {callers: 2, for: 1s}]",
	} {
		r, lines := measured(t, file)
		again, err := Read("test.jsonl", strings.NewReader(lines))
		require.NoError(t, err)
		require.Equal(t, tables(r), tables(again))
		require.NotContains(t, tables(again), "interrupted")
	}
}

// TestLinesThatEndEarly are those of a process that was ended: they are reported as
// far as they go.
func TestLinesThatEndEarly(t *testing.T) {
	_, lines := measured(t, "rounds: 4")
	for _, cut := range []int{1, 100} { // a newline, and the last line with a part of the one before
		r, err := Read("test.jsonl", strings.NewReader(lines[:len(lines)-cut]))
		require.NoError(t, err)
		require.Equal(t, cut > 1, r.Interrupted, cut)
		require.NotEmpty(t, r.Runs)
	}
}

func TestMistakes(t *testing.T) {
	_, lines := measured(t, "{}")
	first, _, _ := strings.Cut(lines, "\n")
	for want, text := range map[string]string{
		"has no lines":                                       "",
		"line 1: want one line of the start":                 `{"turn": {}}`,
		"line 2: want one line of the start":                 first + first,
		"line 1: has format 9: want 1":                       `{"start": {"format": 9}}`,
		"line 1: f.yaml:1:1: bogus":                          `{"start": {"format": 1, "file": "f.yaml", "settings": "bogus: 1"}}`,
		"line 2: is of no kind":                              first + "{}",
		`line 2: the settings have no run "x"`:               first + `{"turn": {"run": "x"}}`,
		`line 2: the run "mixed_10keys" has no endpoint "x"`: first + `{"turn": {"run": "mixed_10keys", "endpoint": "x"}}`,
	} {
		_, err := Read("test.jsonl", strings.NewReader(text))
		require.ErrorContains(t, err, "test.jsonl: "+want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsOfWriting(t *testing.T) {
	f, err := settings.Parse("test.yaml", []byte("{}"))
	require.NoError(t, err)
	w := NewWriter(full{})
	w.Start(f, report.Machine{})
	w.Turn("a", "b", nil)
	require.EqualError(t, w.End(report.New(f)), "raw: disk full")
	require.NoError(t, (*Writer)(nil).End(nil))
}
