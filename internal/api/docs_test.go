package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testWord = regexp.MustCompile("`([a-z][a-z0-9/]*)`|\\b((?:Test|Fuzz)[A-Z]\\w*)")

// TestNamedTestsExist: a test that a row of the docs' tables names is in the package that
// the row names in front of it, so that no promise rests on a test that is gone.
func TestNamedTestsExist(t *testing.T) {
	tests := make(map[string]bool) // "package.Test", and ".Test" for rows that name no package
	for path, text := range files(t, "_test.go") {
		for _, name := range functions(text) {
			tests[filepath.Base(filepath.Dir(path))+"."+name] = true
			tests["."+name] = true
		}
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			in := ""
			for _, m := range testWord.FindAllStringSubmatch(line, -1) {
				if m[1] != "" {
					in = filepath.Base(m[1])
					continue
				}
				if !tests[in+"."+m[2]] {
					t.Errorf("%s:%d names %s of package %q, which is not there", filepath.Base(page), i+1, m[2], in)
				}
			}
		}
	}
}

// TestPromisesHaveTests: each row of docs/promises.md names a test, or the page of its measurement.
func TestPromisesHaveTests(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/promises.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.ContainsAny(cells[0], "0123456789") {
			continue
		}
		rows++
		assert.Regexp(t, `Test[A-Z]|Fuzz[A-Z]|measured: \[`, cells[2], "promise %s", cells[0])
	}
	require.Greater(t, rows, 25)
}

var (
	apiLine     = regexp.MustCompile(`^(\w+): (?:method \(\*?(\w+)\) (\w+)|type (\w+) (?:struct|interface), (\w+)|\w+ (\w+))`)
	apiWords    = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	memberWords = regexp.MustCompile("`(?:[a-z]+\\.)?([A-Z]\\w*)\\.([A-Z]\\w*)\\b")
)

// TestNamesInDocsExist: what a page or a comment calls by the name of one of our packages is
// in api.txt, or in a nested module. So is a member that a page names with its type. The
// changelog also names what is gone.
func TestNamesInDocsExist(t *testing.T) {
	public := publicNames(t)
	checked, members := 0, 0
	for path, text := range files(t, "") {
		page := strings.HasSuffix(path, ".md")
		if filepath.Base(path) == "CHANGELOG.md" || !page && !strings.HasSuffix(path, ".go") {
			continue
		}
		for line := range strings.Lines(text) {
			if !page && !strings.HasPrefix(strings.TrimSpace(line), "//") || !strings.Contains(strings.TrimRight(line, ".\n"), ".") {
				continue
			}
			for _, m := range apiWords.FindAllStringSubmatch(line, -1) {
				if !public[m[1]] {
					continue
				}
				if checked++; !public[m[1]+"."+m[2]] {
					t.Errorf("%s names %s.%s, which is not in api.txt", path, m[1], m[2])
				}
			}
			if !page || strings.Contains(path, "migrate-") { // these name types of others as well
				continue
			}
			for _, m := range memberWords.FindAllStringSubmatch(line, -1) {
				if !public["."+m[1]] {
					continue
				}
				if members++; !public["."+m[1]+"."+m[2]] {
					t.Errorf("%s names %s.%s, which no package has", path, m[1], m[2])
				}
			}
		}
	}
	require.Greater(t, checked, 300)
	require.Greater(t, members, 50)
}

// apiLines returns the lines of api.txt, and those of the nested modules, matched by apiLine.
func apiLines(t *testing.T) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(root + "/api.txt")
	require.NoError(t, err)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, module := range []string{"otel", "limit/limitgrpc"} {
		more, err := names(filepath.Join(root, filepath.FromSlash(module)))
		require.NoError(t, err)
		all = append(all, more...)
	}
	for _, line := range all {
		m := apiLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		lines = append(lines, m)
	}
	return lines
}

// publicNames returns packages, "package.Name", "package.Type.Member", and, of any package,
// ".Type" and ".Type.Member".
func publicNames(t *testing.T) map[string]bool {
	t.Helper()
	public := make(map[string]bool)
	for _, m := range apiLines(t) {
		pkg, owner, member, name := m[1], m[2]+m[4], m[3]+m[5], m[6]
		for _, name := range []string{pkg, pkg + "." + owner + name, pkg + "." + owner + "." + member, "." + owner + name, "." + owner + "." + member} {
			public[name] = true
		}
	}
	return public
}
