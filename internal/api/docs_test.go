package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	testDecl = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	testWord = regexp.MustCompile("`([a-z][a-z0-9/]*)`|\\b((?:Test|Fuzz)[A-Z]\\w*)")
)

// TestNamedTestsExist: a test that a row of the docs' tables names is in the package that
// the row names in front of it, so that no promise rests on a test that is gone.
func TestNamedTestsExist(t *testing.T) {
	const root = "../.."
	tests := make(map[string]bool) // "package.Test", and ".Test" for rows that name no package
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testDecl.FindAllSubmatch(text, -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+string(m[1])] = true
			tests["."+string(m[1])] = true
		}
		return err
	}))
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
	require.Greater(t, named, 300, "the tables of docs/faults.md were read")
}
