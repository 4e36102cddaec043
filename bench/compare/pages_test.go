package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"
)

// TestPagesNoticeAnotherFigure changes one figure of a raw file, and one of a page.
func TestPagesNoticeAnotherFigure(t *testing.T) {
	const file, other = "raw/pool-factor.jsonl", `"Requests":8646,`
	whole, err := os.ReadFile(filepath.Join("..", file))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	text := []byte(strings.Join(lines[:3], "") + strings.Join(lines[len(lines)-2:], "")) // the start, two turns, the end
	require.Contains(t, string(text), `"Requests":8645,`)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "raw"), 0o755))
	raw := filepath.Join(folder, file)
	require.NoError(t, os.WriteFile(raw, text, 0o644))
	page := filepath.Join(folder, "page.md")
	require.NoError(t, os.WriteFile(page, []byte("<!-- made by compare of "+file+": figures -->\n<!-- end -->\n"), 0o644))

	changed, err := pages.Rewrite(folder, "compare", false, make(reports).table)
	require.NoError(t, err)
	require.Len(t, changed, 1)
	changed, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.NoError(t, err)
	require.Empty(t, changed)
	require.NoError(t, os.WriteFile(raw, []byte(strings.Replace(string(text), `"Requests":8645,`, other, 1)), 0o644))
	changed, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.NoError(t, err)
	require.Equal(t, []string{page}, changed)

	cut := string(text[:strings.LastIndex(strings.TrimSpace(string(text)), "\n")])
	require.NoError(t, os.WriteFile(raw, []byte(cut), 0o644))
	_, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.ErrorContains(t, err, "did not end")
}

// TestEveryRawFileIsUsed: a raw file that no page has a table of is of no use.
func TestEveryRawFileIsUsed(t *testing.T) {
	files, err := filepath.Glob("../raw/*.jsonl")
	require.NoError(t, err)
	names, err := pages.Of("..")
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, file := range files {
		used := strings.Contains(all.String(), "raw/"+filepath.Base(file))
		for _, pattern := range []string{"raw/peers-tcp-*.jsonl", "raw/peers-tls-*.jsonl", "raw/cuts-*.jsonl", "raw/growth-primaries-*.jsonl"} {
			matches, err := filepath.Match(pattern, "raw/"+filepath.Base(file))
			require.NoError(t, err)
			used = used || matches && strings.Contains(all.String(), pattern)
		}
		require.True(t, used, "%s is on no page", file)
	}
}
