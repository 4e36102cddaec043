package main

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// repository returns the texts of the repository's files. Almost every test here wants them.
var repository = sync.OnceValues(func() (map[string]string, error) {
	all := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	return all, err
})

// files returns the texts of the files in the repository whose names end in the suffix, by name.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all, err := repository()
	require.NoError(t, err)
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(path, _ string) bool { return !strings.HasSuffix(path, suffix) })
	require.NotEmpty(t, some)
	return some
}

// functions returns the names of the functions that a Go file declares, which are no methods.
func functions(text string) (names []string) {
	for line := range strings.Lines(text) {
		declared, found := strings.CutPrefix(line, "func ")
		if name, _, _ := strings.Cut(declared, "("); found && name != "" {
			names = append(names, name)
		}
	}
	return names
}

var (
	inline  = regexp.MustCompile("`([^`\n]+)`")
	fence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	noName  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`) // what the name of a heading leaves out
)

// anchors returns the names by which links reach the headings of a page, as GitHub makes them.
func anchors(page string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		name := strings.ToLower(link.ReplaceAllString(m[1], ""))
		name = noName.ReplaceAllString(name, "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// TestLinks: each relative link of a page leads to a file, and to a heading if it names one.
func TestLinks(t *testing.T) {
	pages, checked := files(t, ".md"), 0
	named := make(map[string]map[string]bool) // the anchors of pages
	for path, text := range pages {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			to, err := url.Parse(m[1])
			require.NoError(t, err, "%s: %s", path, m[1])
			if to.IsAbs() {
				continue
			}
			checked++
			target := path
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(to.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
				continue
			}
			if to.Fragment != "" && named[target] == nil {
				named[target] = anchors(pages[target])
			}
			if to.Fragment != "" && !named[target][to.Fragment] {
				t.Errorf("%s links to %s, a heading that is not there", path, m[1])
			}
		}
	}
	require.Greater(t, checked, 150)
}

// TestCodeInPages: each paragraph of Go code in README.md, in docs and in monitoring is in a Go file that is
// compiled, such as docs/examples_test.go. TestMigrationPages of bench/peers compiles the migration pages themselves.
func TestCodeInPages(t *testing.T) {
	words := func(code string) string { return strings.Join(strings.Fields(code), " ") }
	var code strings.Builder
	for _, text := range files(t, ".go") {
		code.WriteString(words(text) + "\n")
	}
	checked := 0
	for path, text := range files(t, ".md") {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "go" || strings.HasPrefix(filepath.Base(path), "migrate-") {
				continue
			}
			for paragraph := range strings.SplitSeq(m[2], "\n\n") {
				if checked++; !strings.Contains(code.String(), words(paragraph)) {
					t.Errorf("%s has code that no Go file has:\n%s", path, paragraph)
				}
			}
		}
	}
	require.Greater(t, checked, 30)
}
