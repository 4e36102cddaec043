package plot

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// drawn draws a report of the file, in which each endpoint's phases had a
// thousand requests, and returns the names of the figures.
func drawn(t *testing.T, file string, formats ...string) (folder string, names []string) {
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := report.New(f)
	for i, s := range f.Runs {
		run := r.Begin(s)
		for j, e := range run.Endpoints {
			var phases []*load.Result
			for _, step := range s.Endpoints[j].Load.Phases() {
				result := load.NewResult()
				result.Callers, result.Requests, result.Took = step.Callers, 1000, time.Second
				for v := range int64(1000) {
					require.NoError(t, result.Writes.RecordValue((v+1)*int64(i+j+1)*10_000))
				}
				result.Use.Samples = []load.Sample{{At: 0, Open: 3}, {At: time.Second, Open: 9}}
				phases = append(phases, result)
			}
			e.Add(phases)
		}
	}
	r.Finish()
	folder = filepath.Join(t.TempDir(), "made")
	require.NoError(t, Write(folder, formats, r))
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, f := range files {
		names = append(names, f.Name())
	}
	return folder, names
}

func TestFigures(t *testing.T) {
	tests := map[string][]string{
		"{}": {"run-01-mixed-10keys-latency.svg", "run-01-mixed-10keys-percentiles.svg", "run-01-mixed-10keys-throughput.svg"},
		"steps: [{callers: 1, for: 1s}, {callers: 2, for: 1s}]": {"run-01-mixed-10keys-connections.svg",
			"run-01-mixed-10keys-latency.svg", "run-01-mixed-10keys-percentiles.svg", "run-01-mixed-10keys-throughput.svg"},
		"vary: {round_trip: [0, 5ms]}": {"over-round-trip.svg",
			"run-01-round-trip-0-latency.svg", "run-01-round-trip-0-percentiles.svg", "run-01-round-trip-0-throughput.svg",
			"run-02-round-trip-5ms-latency.svg", "run-02-round-trip-5ms-percentiles.svg", "run-02-round-trip-5ms-throughput.svg"},
	}
	for file, want := range tests {
		_, names := drawn(t, file, "svg")
		require.Equal(t, want, names, file)
	}
}

func TestFormats(t *testing.T) {
	folder, names := drawn(t, "{}", "svg", "png")
	require.Len(t, names, 6)
	svg, err := os.ReadFile(filepath.Join(folder, "run-01-mixed-10keys-percentiles.svg"))
	require.NoError(t, err)
	for _, text := range []string{"laned-4", ">P99<", "latency (logarithmic)"} {
		require.True(t, strings.Contains(string(svg), text), text)
	}
	png, err := os.ReadFile(filepath.Join(folder, "run-01-mixed-10keys-percentiles.png"))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(png, []byte("\x89PNG")))
}

func TestNothingToDraw(t *testing.T) {
	f, err := settings.Parse("test.yaml", []byte("{}"))
	require.NoError(t, err)
	r := report.New(f)
	r.Begin(f.Runs[0])
	require.NoError(t, Write(t.TempDir(), []string{"svg"}, r))
}

func TestNumeric(t *testing.T) {
	for _, test := range []struct {
		value any
		want  float64
		ok    bool
	}{
		{15, 15, true}, {0.5, 0.5, true}, {"0", 0, true}, {"1ms", 1, true}, {"200µs", 0.2, true}, {"50MB/s", 5e7, true},
		{"shop", 0, false}, {true, 0, false}, {"100 zipf 1.1", 0, false},
	} {
		got, ok := numeric(test.value)
		require.Equal(t, test.ok, ok, test.value)
		require.InDelta(t, test.want, got, 1e-12)
	}
}

func TestNice(t *testing.T) {
	for _, test := range []struct{ value, down, up float64 }{
		{0.3, 0.2, 0.5}, {1, 1, 1}, {1.5, 1, 2}, {7, 5, 10}, {90, 50, 100},
	} {
		require.InDelta(t, test.down, nice(test.value, math.Floor), 1e-9)
		require.InDelta(t, test.up, nice(test.value, math.Ceil), 1e-9)
	}
}

func TestTexts(t *testing.T) {
	require.Equal(t, "500 µs", msText(0.5))
	require.Equal(t, "2 ms", msText(2))
	require.Equal(t, "1.5 s", msText(1500))
	require.Equal(t, "1.2M", rateText(1_200_000))
	require.Equal(t, "65.4k", rateText(65_400))
	require.Equal(t, "12", rateText(12))
	require.Equal(t, "over-round-trip-callers-5", slug("over-round_trip-callers=5 "))
}

func TestNarrowTitles(t *testing.T) {
	require.Equal(t, []string{"Over rate, 50 callers"}, wrap(titleStyle(), "Over rate, 50 callers", narrowWidth))
	require.Equal(t, []string{"Over rate,", "50 callers"}, wrap(titleStyle(), "Over rate, 50 callers", 100))
}

func TestThemedFollowsTheReadersScheme(t *testing.T) {
	text := string(themed([]byte(`<svg><g a="1"><path style="fill:#FFFFFF"/><text>a</text></g></svg>`)))
	require.Contains(t, text, `<path style="fill:var(--paper)"/>`)
	require.Contains(t, text, "@media (prefers-color-scheme:dark){svg{--paper:#0D1117;")
	require.Less(t, strings.Index(text, "<style>"), strings.Index(text, "<g "))
}

func TestDrawRates(t *testing.T) {
	text, err := DrawRates("Rates", []Rates{{"One key", "callers", []Line{{"ours", []int{1, 8}, []float64{10, 20}}}}})
	require.NoError(t, err)
	for _, want := range []string{">Rates<", ">One key<", ">callers", ">ours<"} {
		require.Contains(t, string(text), want)
	}
	_, err = DrawRates("Rates", []Rates{{Title: "One key"}})
	require.Error(t, err)
}
