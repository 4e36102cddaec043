package alerts

import (
	"bytes"
	"os"
	"strings"
	"testing"

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

// tests is the part of a file of tests of rules that is looked at here.
type tests struct {
	Tests []struct {
		Name  string
		Exprs []struct {
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
