package pages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = `# Title

<!-- made by peers of raw/a.jsonl raw/b.jsonl: goals -->
old
<!-- end -->

between

<!-- made by compare of raw/c.jsonl: Figures -->

theirs

<!-- end -->
after
`

func TestFillReplacesTablesOfOneProgram(t *testing.T) {
	var asked []Table
	filled, made, err := Fill([]byte(page), "peers", func(t Table) (string, error) {
		asked = append(asked, t)
		return "| new |\n", nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, made)
	require.Equal(t, []Table{{"peers", []string{"raw/a.jsonl", "raw/b.jsonl"}, "goals"}}, asked)
	require.Equal(t, strings.Replace(page, "\nold\n", "\n\n| new |\n\n", 1), string(filled))

	again, _, err := Fill(filled, "peers", func(Table) (string, error) { return "| new |", nil })
	require.NoError(t, err)
	require.Equal(t, string(filled), string(again))
}

func TestFillSaysWhatIsWrong(t *testing.T) {
	broken := errors.New("broken")
	_, _, err := Fill([]byte(page), "compare", func(Table) (string, error) { return "", broken })
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "the table Figures of raw/c.jsonl")
	_, _, err = Fill([]byte(strings.Replace(page, "<!-- end -->", "", 1)), "peers", func(Table) (string, error) { return "", nil })
	require.ErrorContains(t, err, `of raw/a.jsonl raw/b.jsonl: goals -->" has no`)
}

func TestRewriteFindsPagesAndFiles(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "raw"), 0o755))
	top := filepath.Join(folder, "PAGE.md")
	below := filepath.Join(folder, "raw", "page.md")
	require.NoError(t, os.WriteFile(top, []byte(page), 0o644))
	require.NoError(t, os.WriteFile(below, []byte(page), 0o644))
	tables := func(t Table) (string, error) {
		text, err := os.ReadFile(t.Files[0])
		return string(text), err
	}
	changed, err := Rewrite(folder, "compare", true, tables)
	require.NoError(t, err)
	require.Equal(t, []string{top, below}, changed)
	unchanged, err := os.ReadFile(top)
	require.NoError(t, err)
	require.Equal(t, page, string(unchanged))

	_, err = Rewrite(folder, "compare", false, tables)
	require.NoError(t, err)
	without, err := os.ReadFile(below)
	require.NoError(t, err)
	require.Contains(t, string(without), NotMeasured)

	require.NoError(t, os.WriteFile(filepath.Join(folder, "raw", "c.jsonl"), []byte("| measured |"), 0o644))
	changed, err = Rewrite(folder, "compare", false, tables)
	require.NoError(t, err)
	require.Equal(t, []string{top, below}, changed)
	changed, err = Rewrite(folder, "compare", true, tables)
	require.NoError(t, err)
	require.Empty(t, changed)
	inside := filepath.Join(folder, "bench")
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "raw"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "raw", "c.jsonl"), []byte("| other |"), 0o644))
	readme := filepath.Join(folder, "README.md")
	require.NoError(t, os.WriteFile(readme, []byte(page), 0o644))
	changed, err = Rewrite(inside, "compare", false, tables)
	require.NoError(t, err)
	require.Equal(t, []string{top, readme}, changed, "pages beside the folder have tables, too")
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	require.Contains(t, string(text), "| other |")
	_, err = Rewrite(folder, "nobody", true, tables)
	require.ErrorContains(t, err, "has a table or value made by nobody")
}
