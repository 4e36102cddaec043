package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/guard"
)

// TestDocsHaveEveryLogLine compares the table in docs/metrics.md with the lines of the log.
func TestDocsHaveEveryLogLine(t *testing.T) {
	rows := logRows(t)
	for _, line := range guard.Lines() {
		row, ok := rows[line.Message]
		require.True(t, ok, "docs/metrics.md lacks the line %q", line.Message)
		require.Equal(t, strings.ToLower(line.Level.String()), row[1], line.Message)
		for _, attr := range line.Attrs {
			require.Contains(t, row[3], "`"+attr+"`", "attributes of %q", line.Message)
		}
	}
	require.Len(t, rows, len(guard.Lines()), "docs/metrics.md has a line that nobody writes")
}

// logRows returns the rows of the table by their messages. A row may have several.
func logRows(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## The log\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := make(map[string][]string)
	message := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(section) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(row), "|")[1:]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for _, m := range message.FindAllStringSubmatch(cells[0], -1) {
			rows[m[1]] = cells
		}
	}
	return rows
}
