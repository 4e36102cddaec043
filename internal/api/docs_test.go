package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	named := 0
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
				named++
				if !tests[in+"."+m[2]] {
					t.Errorf("%s:%d names %s of package %q, which is not there", filepath.Base(page), i+1, m[2], in)
				}
			}
		}
	}
	require.Greater(t, named, 100, "the tables of docs/faults.md were read")
}

// TestFaultTestsAreShown: docs/faults.md has a row for each test on real clusters.
func TestFaultTestsAreShown(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/faults.md")
	require.NoError(t, err)
	shown := 0
	for path, text := range files(t, "_test.go") {
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), root+"/")
		if folder != "internal/faults" && folder != "internal/tests/linear" {
			continue
		}
		for _, name := range functions(text) {
			if strings.HasPrefix(name, "Test") && name != "TestMain" {
				shown++
				assert.Contains(t, string(page), "| `"+folder+"` "+name+" | ", "a row of docs/faults.md")
			}
		}
	}
	require.Greater(t, shown, 10)
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

// publicNames returns packages, "package.Name", "package.Type.Member", and, of any package,
// ".Type" and ".Type.Member".
func publicNames(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(root + "/api.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, module := range []string{"otel", "limit/limitgrpc"} {
		more, err := names(filepath.Join(root, filepath.FromSlash(module)))
		require.NoError(t, err)
		lines = append(lines, more...)
	}
	public := make(map[string]bool)
	for _, line := range lines {
		m := apiLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		pkg, owner, member, name := m[1], m[2]+m[4], m[3]+m[5], m[6]
		for _, name := range []string{pkg, pkg + "." + owner + name, pkg + "." + owner + "." + member, "." + owner + name, "." + owner + "." + member} {
			public[name] = true
		}
	}
	return public
}

// ofInterfaces are methods that only other libraries call, and "embeds".
var ofInterfaces = []string{"As", "Is", "Unwrap", "Error", "Format", "GoString", "Collect", "Describe", "embeds"}

// betweenWords reports whether a character is part of no name.
func betweenWords(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

var (
	pageCode  = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	goComment = regexp.MustCompile(`//[^\n]*`)
)

// TestNamesAreShown: every exported name, also of fields and methods, is in the code of a page of
// the docs or of a runnable example, where a newcomer meets it. A word of prose is no such place.
func TestNamesAreShown(t *testing.T) {
	shown := make(map[string]bool)
	for path, text := range files(t, "") {
		name := filepath.Base(path)
		page := strings.HasSuffix(path, ".md") && name != "CHANGELOG.md" && !strings.HasPrefix(path, root+"/bench/")
		example := strings.HasSuffix(path, ".go") && (strings.HasPrefix(name, "example") || strings.HasPrefix(path, root+"/examples/"))
		if !page && !example {
			continue
		}
		code := goComment.ReplaceAllString(text, "")
		if page {
			code = strings.Join(pageCode.FindAllString(text, -1), " ")
		}
		for _, word := range strings.FieldsFunc(code, betweenWords) {
			shown[word] = true
		}
	}
	text, err := os.ReadFile(root + "/api.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		m := apiLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		owner, name := m[2]+m[4], m[3]+m[5]+m[6]
		if name != "" && !shown[name] && !slices.Contains(ofInterfaces, name) {
			t.Errorf("%s.%s.%s is in no page of docs and in no example", m[1], owner, name)
		}
	}
}
