package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableIsCurrent: what a mutant takes out must be there, and so must the
// test that it names. That the test fails is for make mutants to see.
func TestTableIsCurrent(t *testing.T) {
	t.Chdir("../..")
	tests := make(map[string]string) // the source of each package's tests
	for _, m := range mutants {
		dir := t.TempDir()
		_, err := m.overlay(dir)
		assert.NoError(t, err, m.fault)
		if tests[m.pkg] == "" {
			files, err := os.ReadDir(m.pkg)
			require.NoError(t, err)
			for _, f := range files {
				if strings.HasSuffix(f.Name(), "_test.go") {
					text, err := os.ReadFile(m.pkg + "/" + f.Name())
					require.NoError(t, err)
					tests[m.pkg] += string(text)
				}
			}
		}
		name, _, _ := strings.Cut(m.test, "/")
		for one := range strings.SplitSeq(name, "|") {
			assert.True(t, strings.Contains(tests[m.pkg], "\nfunc "+one+"("), "%s: %s has no %s", m.fault, m.pkg, one)
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
	m := mutant{fault: "x", file: "internal/resp/framer.go", old: "if f.num > f.limits.Bulk {", new: "if false {",
		pkg: "./internal/resp", test: "TestFramerRefuses"}
	require.NoError(t, m.kill())
	m.new = m.old + " "
	require.ErrorContains(t, m.kill(), "the test passes")
	m.test = "TestNobodyWrote"
	require.ErrorContains(t, m.kill(), "no such test")
	m.new = "if nonsense {"
	require.ErrorContains(t, m.kill(), "does not compile")
	m.old = "nonsense"
	require.ErrorContains(t, m.kill(), "0 times")
}
