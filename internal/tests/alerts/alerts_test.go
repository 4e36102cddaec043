package alerts

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// rules is the form of a file of alert rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../../metrics/alerts.yaml")
	require.NoError(t, err)
	var file rules
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	require.NoError(t, dec.Decode(&file))
	require.Len(t, file.Groups, 1)
	docs, err := os.ReadFile("../../../docs/metrics.md")
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, rule := range file.Groups[0].Rules {
		require.Regexp(t, `^Redislanes[A-Z]\w+$`, rule.Alert)
		require.False(t, seen[rule.Alert], "%s is there twice", rule.Alert)
		seen[rule.Alert] = true
		require.Regexp(t, `\bredislanes_\w+`, rule.Expr)
		requireBalanced(t, rule.Expr)
		_, err := model.ParseDuration(rule.For)
		require.NoError(t, err, rule.Alert)
		require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["description"], rule.Alert)
		require.Contains(t, string(docs), "`"+rule.Alert+"`", "docs/metrics.md says what to do")
	}
	require.NotEmpty(t, seen)
}

// requireBalanced finds a bracket that was lost in an edit. It does not parse
// PromQL: that would need Prometheus itself.
func requireBalanced(t *testing.T, expr string) {
	for _, pair := range []string{"()", "[]", "{}"} {
		require.Equal(t, strings.Count(expr, pair[:1]), strings.Count(expr, pair[1:]), expr)
	}
	require.Zero(t, strings.Count(expr, `"`)%2, expr)
}
