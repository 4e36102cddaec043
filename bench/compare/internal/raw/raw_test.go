package raw

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/rawfile"
)

// measured writes a report and the lines of it.
func measured(t *testing.T, file, name string) (r *report.Report) {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r = report.New(f)
	w, err := Create(name)
	require.NoError(t, err)
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
	return r
}

func tables(r *report.Report) string {
	var b bytes.Buffer
	r.WriteTable(&b)
	return b.String()
}

// TestTheSameAgain: the report of the lines is that which they were written of.
func TestTheSameAgain(t *testing.T) {
	for _, file := range []string{
		`{question: "Which?", vary: {round_trip: [0, 1ms], pool: [{kind: laned}, {kind: fixed, size: 3}]}}`,
		"steps: [{callers: 1, for: 1s}, {callers: 2, for: 1s}]",
	} {
		name := filepath.Join(t.TempDir(), "test.jsonl.gz")
		r := measured(t, file, name)
		again, err := Read(name)
		require.NoError(t, err)
		require.Equal(t, tables(r), tables(again))
		require.NotContains(t, tables(again), "interrupted")
	}
}

func TestMistakes(t *testing.T) {
	const first, last = `{"start": {"format": 1, "file": "f.yaml", "settings": "{}"}}` + "\n", `{"end": {}}` + "\n"
	for want, text := range map[string]string{
		"line 1: f.yaml: line 1: unknown key bogus":          strings.Replace(first, "{}", "bogus: 1", 1),
		"line 2: is of no kind":                              first + "{}\n" + last,
		"line 2: ":                                           first + `{"turn": {"phases": [{"Reads": "nonsense"}]}}` + "\n" + last,
		`line 2: the settings have no run "x"`:               first + `{"turn": {"run": "x"}}` + "\n" + last,
		`line 2: the run "mixed_10keys" has no endpoint "x"`: first + `{"turn": {"run": "mixed_10keys", "endpoint": "x"}}` + "\n" + last,
	} {
		name := filepath.Join(t.TempDir(), "test.jsonl")
		w, err := rawfile.Create(name)
		require.NoError(t, err)
		for l := range strings.Lines(text) {
			require.NoError(t, w.Write(json.RawMessage(l)))
		}
		require.NoError(t, w.Close())
		_, err = Read(name)
		require.ErrorContains(t, err, "test.jsonl: "+want)
	}
}
