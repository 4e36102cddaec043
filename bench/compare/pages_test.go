package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// TestPagesNoticeAnotherFigure changes one figure of a raw file, and one of a page.
func TestPagesNoticeAnotherFigure(t *testing.T) {
	const file = "raw/pool-factor.jsonl"
	whole, err := rawfile.Bytes(filepath.Join("..", file+".gz"))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	text := []byte(strings.Join(lines[:3], "") + strings.Join(lines[len(lines)-2:], "")) // the start, two turns, the end
	edited := regexp.MustCompile(`"Requests":`).ReplaceAllString(string(text), "${0}1")
	require.NotEqual(t, string(text), edited)
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
	require.NoError(t, os.WriteFile(raw, []byte(edited), 0o644))
	changed, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.NoError(t, err)
	require.Equal(t, []string{page}, changed)

	cut := string(text[:strings.LastIndex(strings.TrimSpace(string(text)), "\n")])
	require.NoError(t, os.WriteFile(raw, []byte(cut), 0o644))
	_, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.ErrorContains(t, err, "did not end")
}
