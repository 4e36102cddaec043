package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableIsCurrent: what a mutant takes out must be there, and so must the
// test that it names. That the test fails is for make mutants to see.
func TestTableIsCurrent(t *testing.T) {
	t.Chdir("../..")
	sources := make(map[string]string) // of each package's tests
	dir := t.TempDir()
	for _, m := range mutants() {
		_, err := m.overlay(dir)
		assert.NoError(t, err)
		words := strings.Fields(m.test)
		pkg, pattern := words[len(words)-2], words[len(words)-1]
		if sources[pkg] == "" {
			files, err := filepath.Glob(pkg + "/*_test.go")
			require.NoError(t, err)
			for _, f := range files {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				sources[pkg] += string(text)
			}
		}
		name, _, _ := strings.Cut(pattern, "/")
		for name := range strings.SplitSeq(name, "|") {
			assert.True(t, strings.Contains(sources[pkg], "\nfunc "+name+"("), "%s: %s has no %s", m.fault, pkg, name)
		}
	}
}

// TestKill takes out a protection that a quick test notices, and one that does
// not exist.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go in the PATH")
	}
	t.Chdir("../..")
	m := mutant{fault: "x", at: "internal/resp.Framer.sized", by: never("f.num > f.limit-f.size"), test: "./internal/resp TestFramerLimits"}
	require.NoError(t, m.kill())
	m.by = always("f.num > f.limit-f.size")
	m.test = "./internal/resp TestNobodyWrote"
	require.ErrorContains(t, m.kill(), "no such test")
	m.by = instead("f.limit-f.size", "nonsense")
	require.ErrorContains(t, m.kill(), "does not compile")
}
