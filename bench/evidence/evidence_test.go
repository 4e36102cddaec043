package evidence

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"
)

// rawFiles returns all raw files by their names, without the ending.
func rawFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../raw/*.jsonl.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := make(map[string]string)
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")] = file
	}
	return all
}

// TestCommitsOfRawFiles: each raw file names a commit behind the present one.
func TestCommitsOfRawFiles(t *testing.T) {
	if out, err := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); err != nil || !bytes.HasPrefix(out, []byte("false")) {
		t.Skip("needs the history of the repository")
	}
	for _, file := range rawFiles(t) {
		require.NoError(t, behind(file))
	}
}

// TestEveryRawFileIsUsed: a raw file that no page has a table of is of no use.
func TestEveryRawFileIsUsed(t *testing.T) {
	names, err := pages.Of("..")
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(text)
	}
	for name := range rawFiles(t) {
		used := strings.Contains(all.String(), "raw/"+name+".jsonl")
		for _, pattern := range []string{"peers-tcp-*", "peers-tls-*", "cuts-*", "growth-primaries-*", "radix-*"} {
			matches, err := filepath.Match(pattern, name)
			require.NoError(t, err)
			used = used || matches && strings.Contains(all.String(), "raw/"+pattern+".jsonl")
		}
		require.True(t, used, "%s is on no page", name)
	}
}

// TestDated: a table says when it was measured, and is refused if its commit is not known.
func TestDated(t *testing.T) {
	tables := Dated(func(pages.Table) (string, error) { return "| a |\n", nil })
	files := rawFiles(t)
	text, err := tables(pages.Table{Files: []string{files["cuts-ours"], files["cuts-others"]}})
	require.NoError(t, err)
	require.Regexp(t, `^\| a \|\n\nMeasured 20\d\d-\d\d-\d\d.* on [0-9a-f]{12}(, [0-9a-f]{12})?\.\n$`, text)
	name := filepath.Join(t.TempDir(), "raw.jsonl")
	for _, commit := range []string{"", "0123456789ab+"} {
		require.NoError(t, os.WriteFile(name, []byte(`{"start":{"machine":{"commit":"`+commit+`"}}}`+"\n"), 0o600))
		_, err = tables(pages.Table{Files: []string{name}})
		require.ErrorContains(t, err, "changes that no commit has")
	}
}

// TestRewriteRefusesALostCommit: the page stays as it is.
func TestRewriteRefusesALostCommit(t *testing.T) {
	folder := t.TempDir()
	const page = "<!-- made by x of raw.jsonl: y -->\n<!-- end -->\n"
	name := filepath.Join(folder, "page.md")
	require.NoError(t, os.WriteFile(name, []byte(page), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "raw.jsonl"), []byte(`{"start":{"machine":{"commit":"0123456789ab"}}}`+"\n"), 0o600))
	err := Rewrite(t.Output(), folder, "x", func(pages.Table) (string, error) { return "| a |", nil }, nil)
	require.ErrorContains(t, err, "is no ancestor")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, page, string(text))
}
