package metrics_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limitmetrics"
)

// TestMetricsTable: the tables of docs/metrics.md are made of what is exported, with its
// help texts. With -update it writes them.
func TestMetricsTable(t *testing.T) {
	const file, end = "../docs/metrics.md", "\n<!-- end -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(text)
	for name, rows := range map[string]string{"client": table(t, clientMetrics(t)), "limits": table(t, limitMetrics(t))} {
		start := "<!-- made by go test ./metrics -update: " + name + " -->\n\n"
		before, rest, found := strings.Cut(page, start)
		require.True(t, found, start)
		_, after, found := strings.Cut(rest, end)
		require.True(t, found, end)
		page = before + start + rows + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		return
	}
	require.Equal(t, string(text), page, "run go test ./metrics -run TestMetricsTable -update")
}

// clientMetrics and limitMetrics return what package metrics and limit/limitmetrics export.
func clientMetrics(t *testing.T) *prometheus.Registry {
	reg, m := prometheus.NewRegistry(), observed()
	require.NoError(t, m.Trace().Stats(busy().Stats))
	require.NoError(t, reg.Register(m))
	return reg
}

func limitMetrics(t *testing.T) *prometheus.Registry {
	reg, o := prometheus.NewRegistry(), limitmetrics.New()
	require.NoError(t, reg.Register(o))
	o.Hits(new(limit.Limit), "counted", 0)
	return reg
}

// table prints a row for each metric: name, type, labels and help.
func table(t *testing.T, reg *prometheus.Registry) string {
	families, err := reg.Gather()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		labels := make(map[string]bool)
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels["`"+l.GetName()+"`"] = true
			}
		}
		require.NotContains(t, f.GetHelp(), "|")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()),
			strings.Join(slices.Sorted(maps.Keys(labels)), ", "), f.GetHelp())
	}
	return b.String()
}
