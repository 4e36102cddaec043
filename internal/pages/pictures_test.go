package pages

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedrawWritesWhatDiffers(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "raw"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "raw", "a.jsonl"), nil, 0o644))
	page := "text\n\n<!-- drawn by compare of raw/a.jsonl: over rate -->\n![rates](rates.svg)\n\n<!-- drawn by peers of raw/a.jsonl: x -->\n![x](x.svg)\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "page.md"), []byte(page), 0o644))
	picture := filepath.Join(folder, "rates.svg")
	draw := func(of Table) ([]byte, error) {
		require.Equal(t, Table{"compare", []string{filepath.Join(folder, "raw", "a.jsonl")}, "over rate"}, of)
		return []byte("<svg/>"), nil
	}
	changed, err := Redraw(folder, "compare", true, draw)
	require.NoError(t, err)
	require.Equal(t, []string{picture}, changed)
	require.NoFileExists(t, picture)
	changed, err = Redraw(folder, "compare", false, draw)
	require.NoError(t, err)
	require.Equal(t, []string{picture}, changed)
	require.FileExists(t, picture)
	changed, err = Redraw(folder, "compare", true, draw)
	require.NoError(t, err)
	require.Empty(t, changed)

	_, err = Redraw(folder, "compare", true, func(Table) ([]byte, error) { return nil, errors.New("broken") })
	require.ErrorContains(t, err, "rates.svg: broken")
	require.NoError(t, os.Remove(filepath.Join(folder, "raw", "a.jsonl")))
	_, err = Redraw(folder, "compare", true, draw)
	require.ErrorContains(t, err, "not there")
}
