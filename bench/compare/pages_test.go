package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	lines := strings.Split(string(whole), "\n")
	some := append(lines[:3:3], lines[len(lines)-3]) // the start, two turns, the end
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "raw"), 0o755))
	write := func(lines ...string) {
		w, err := rawfile.Create(filepath.Join(folder, file))
		require.NoError(t, err)
		for _, l := range lines {
			require.NoError(t, w.Write(json.RawMessage(l)))
		}
		require.NoError(t, w.Close())
	}
	write(some...)
	page := filepath.Join(folder, "page.md")
	require.NoError(t, os.WriteFile(page, []byte("<!-- made by compare of "+file+": figures -->\n<!-- end -->\n"), 0o644))

	changed, err := pages.Rewrite(folder, "compare", false, make(reports).table)
	require.NoError(t, err)
	require.Len(t, changed, 1)
	changed, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.NoError(t, err)
	require.Empty(t, changed)
	edited := strings.ReplaceAll(some[1], `"Requests":`, `"Requests":1`)
	require.NotEqual(t, some[1], edited)
	write(some[0], edited, some[2], some[3])
	changed, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.NoError(t, err)
	require.Equal(t, []string{page}, changed)

	write(some[:3]...)
	_, err = pages.Rewrite(folder, "compare", true, make(reports).table)
	require.ErrorContains(t, err, "did not end")
}
