package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	marked   = regexp.MustCompile(`<!-- (?:value|least|most|ratio) by [^\n]*?<!-- -->|<!--[^\n]*?-->`)
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	measured = regexp.MustCompile(`\d(?:\.\d+)? ?(?:µs|ns|×|times\b)|\d\.\d+ (?:ms|s|KB|MB)\b|\b0\.\d\d`)
	settings = []string{"EXPIRE in 4 µs"} // of a simulation
)

// TestSentencesHaveNoFiguresOfTheirOwn looks for figures in the sentences of the pages of
// results that no program writes. Tables that people write have figures of other documents.
func TestSentencesHaveNoFiguresOfTheirOwn(t *testing.T) {
	names, err := filepath.Glob("../../bench/results/*.md")
	require.NoError(t, err)
	names = append(names, "../../bench/RESULTS.md", "../../bench/documents.md")
	require.Greater(t, len(names), 9)
	sentences := 0
	for _, name := range names {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		made := false
		for number, line := range strings.Split(string(page), "\n") {
			made = begins.MatchString(line+"\n") || made && line != end
			if made || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "Theirs") {
				continue
			}
			sentences++
			require.Empty(t, ownFigures(line), "%s:%d: mark it with <!-- value by ... --> (doc.go)", name, number+1)
		}
	}
	require.Greater(t, sentences, 200)
}

func ownFigures(line string) string {
	line = codeSpan.ReplaceAllString(marked.ReplaceAllString(line, ""), "")
	for _, setting := range settings {
		line = strings.ReplaceAll(line, setting, "")
	}
	return measured.FindString(line)
}

func TestOwnFigures(t *testing.T) {
	require.Equal(t, "1.4 times", ownFigures("ours makes 1.4 times the requests"))
	require.Equal(t, "0.61", ownFigures("falls to 0.61 of it"))
	require.Equal(t, "2.5 ms", ownFigures("a P99 of 2.5 ms"))
	require.Empty(t, ownFigures("<!-- value by peers of raw/a.jsonl: x; y -->1.4<!-- --> times, with 100 callers over 5 ms, `0.55 ×`"))
}
