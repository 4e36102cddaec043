package alerts

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

const monitoring = "../../../monitoring/"

// rules is the form of a file of rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func read(t *testing.T, file string, strict bool, into any) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(strict)
	require.NoError(t, dec.Decode(into), file)
}

func alerts(t *testing.T) (all []rule) {
	var file rules
	read(t, monitoring+"alerts.yaml", true, &file)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				all = append(all, r)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestForm: each alert says what is wrong and what to do, and the documentation has it.
func TestForm(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/metrics.md")
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, r := range alerts(t) {
		require.Regexp(t, `^Redis(lanes)?[A-Z]\w+$`, r.Alert)
		require.False(t, seen[r.Alert], "%s is there twice", r.Alert)
		seen[r.Alert] = true
		_, err := model.ParseDuration(r.For)
		require.NoError(t, err, r.Alert)
		require.Contains(t, []string{"warning", "critical"}, r.Labels["severity"], r.Alert)
		for _, part := range []string{"summary", "description", "runbook"} {
			require.NotEmpty(t, r.Annotations[part], "%s: %s", r.Alert, part)
		}
		require.Contains(t, string(docs), "`"+r.Alert+"`", "docs/metrics.md has it")
		if strings.Contains(r.Expr, "_bucket") {
			require.Fail(t, "an alert asks for classic buckets alone", r.Alert)
		}
	}
}

// tests is the part of a file of tests of rules that is looked at here.
type tests struct {
	Tests []struct {
		Name  string
		Exprs []struct {
			At      string                    `yaml:"eval_time"`
			Samples []struct{ Labels string } `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	}
}

// TestEveryAlertIsTested: there is a test in which it fires, and before that does not.
func TestEveryAlertIsTested(t *testing.T) {
	var file tests
	read(t, monitoring+"alerts_test.yaml", false, &file)
	fires := make(map[string]bool)
	healthy := 0
	for _, test := range file.Tests {
		require.NotEmpty(t, test.Exprs, test.Name)
		quiet := true
		for _, e := range test.Exprs {
			for _, s := range e.Samples {
				_, rest, found := strings.Cut(s.Labels, `alertname="`)
				require.True(t, found, s.Labels)
				name, _, _ := strings.Cut(rest, `"`)
				fires[name] = true
				quiet = false
			}
		}
		if quiet {
			healthy++
		}
	}
	for _, r := range alerts(t) {
		require.True(t, fires[r.Alert], "no test of %s in alerts_test.yaml", r.Alert)
		delete(fires, r.Alert)
	}
	require.Empty(t, fires, "there are no such alerts")
	require.GreaterOrEqual(t, healthy, 10)
}

// TestDocsSayWhenAlertsFire: the column "fires" of docs/metrics.md has times at which a test in
// alerts_test.yaml sees the alert fire. What is wrong begins there at once, at two minutes, or at ten.
func TestDocsSayWhenAlertsFire(t *testing.T) {
	var file tests
	read(t, monitoring+"alerts_test.yaml", false, &file)
	proven := make(map[string]map[time.Duration]bool)
	for _, test := range file.Tests {
		for _, e := range test.Exprs {
			at, err := time.ParseDuration(e.At)
			require.NoError(t, err, test.Name)
			for _, s := range e.Samples {
				_, rest, _ := strings.Cut(s.Labels, `alertname="`)
				name, _, _ := strings.Cut(rest, `"`)
				if proven[name] == nil {
					proven[name] = make(map[time.Duration]bool)
				}
				proven[name][at], proven[name][at-2*time.Minute], proven[name][at-10*time.Minute] = true, true, true
			}
		}
	}
	docs, err := os.ReadFile("../../../docs/metrics.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(Redis\\w+)` \\|.*\\| ([\\d.]*)([¼½¾]?) (s|min)[^|]*\\|$").FindAllStringSubmatch(string(docs), -1)
	require.Len(t, rows, len(proven))
	for _, row := range rows {
		n, err := strconv.ParseFloat(row[2], 64)
		require.NoError(t, err, row[0])
		n += map[string]float64{"¼": 0.25, "½": 0.5, "¾": 0.75}[row[3]]
		said := time.Duration(n * float64(map[string]time.Duration{"s": time.Second, "min": time.Minute}[row[4]]))
		require.True(t, proven[row[1]][said], "no test sees %s fire after %v", row[1], said)
	}
}
