package model

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// uncommon are commands whose replies no two servers have in common. COMMAND is
// compared by TestCommandTable.
var uncommon = []string{"client|info", "command", "info", "role", "time"}

// TestEveryCommandIsCompared: each command of the model is in the random commands of
// TestFidelity or in the scenes of TestFidelityOfScripts.
func TestEveryCommandIsCompared(t *testing.T) {
	scripts, err := os.ReadFile("livescripts_test.go")
	require.NoError(t, err)
	compared := func(c *command) {
		words := strings.ToUpper(strings.ReplaceAll(c.name, "|", " "))
		drawn := slices.ContainsFunc(templatesOf(grammar+grammars["redis-8.10"]), func(template string) bool {
			return strings.HasPrefix(strings.TrimPrefix(template, "~")+" ", words+" ")
		})
		if !slices.Contains(uncommon, c.name) && !drawn {
			require.Regexp(t, `(?m)^\t+\d\w*[.>]? `+words+`\b`, string(scripts), "%s is compared with no server", c.name)
		}
	}
	for _, c := range dialects["redis-8.10"].commands() {
		compared(c)
		for _, sub := range c.subs {
			compared(sub)
		}
	}
}
