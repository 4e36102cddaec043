package metrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// metricName matches names as they are written in queries and in prose.
var metricName = regexp.MustCompile(`\bredislanes_\w+`)

var (
	// known are the metrics of a dashboard: ours, those of Go's collectors, the exporters, the rate
	// limit service and Envoy, and what Prometheus says of alerts.
	known = regexp.MustCompile(`\b(redislanes|process|go|redis|node|ratelimit|envoy)_\w+|\bALERTS\b`)

	// selected matches one of our metrics and what is selected of it.
	selected = regexp.MustCompile(`\bredislanes_\w+(\{[^}]*\})?`)
)

const (
	alertRules    = "../monitoring/alerts.yaml"
	dashboardFile = "../monitoring/dashboard.json"
)

func exported(t *testing.T) map[string]bool {
	return gathered(t, clientMetrics(t))
}

func gathered(t *testing.T, reg *prometheus.Registry) map[string]bool {
	families, err := reg.Gather()
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, family := range families {
		names[family.GetName()] = true
	}
	return names
}

// ofLimits returns what package limit/limitmetrics exports.
func ofLimits(t *testing.T) map[string]bool {
	return gathered(t, limitMetrics(t))
}

// metricsIn returns the metrics that a text names; queries name a histogram by
// its parts.
func metricsIn(text []byte, names map[string]bool) []string {
	found := metricName.FindAllString(string(text), -1)
	for i, name := range found {
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			if whole := strings.TrimSuffix(name, part); names[whole] {
				found[i] = whole
			}
		}
	}
	return found
}

func TestFilesNameOnlyWhatIsExported(t *testing.T) {
	names := exported(t)
	for name := range ofLimits(t) {
		names[name] = true
	}
	for _, file := range []string{alertRules, dashboardFile, "../docs/metrics.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := metricsIn(text, names)
		require.NotEmpty(t, found, file)
		for _, name := range found {
			require.True(t, names[name], "%s: %s is not exported", file, name)
		}
	}
}

func TestDocsAndDashboardNameAllThatIsExported(t *testing.T) {
	for _, file := range []string{"../docs/metrics.md", dashboardFile} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		names := exported(t)
		for name := range ofLimits(t) {
			names[name] = true
		}
		found := metricsIn(text, names)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			require.Contains(t, found, name, file)
		}
	}
}

// dashboard is the part of a Grafana dashboard that is looked at here.
type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name, Type, Query any }
	}
	Panels []struct {
		ID         int
		Title      string
		Type       string
		Datasource datasource
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID, Expr string
			Datasource  datasource
		}
	}
}

type datasource struct{ Type, UID string }

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.Title)
	require.NotEmpty(t, d.Panels)
	require.Equal(t, "datasource", d.Templating.List[0].Name)
	require.Equal(t, "datasource", d.Templating.List[0].Type)
	require.Equal(t, "prometheus", d.Templating.List[0].Query)
	require.Equal(t, "instance", d.Templating.List[1].Name)
	require.Equal(t, "node", d.Templating.List[2].Name)

	ids := make(map[int]bool)
	taken := make(map[[2]int]string)
	variable := datasource{"prometheus", "${datasource}"}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "panel id %d is there twice", p.ID)
		ids[p.ID] = true
		if p.Type != "row" {
			require.Equal(t, variable, p.Datasource, p.Title)
			require.NotEmpty(t, p.Targets, p.Title)
		}
		for _, target := range p.Targets {
			require.Equal(t, variable, target.Datasource, p.Title)
			require.Regexp(t, known, target.Expr)
			for _, ours := range selected.FindAllString(target.Expr, -1) {
				require.Contains(t, ours, `instance=~"$instance"`, "%s follows the variable", p.Title)
			}
		}
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies on another panel", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
