package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeHasThisProgram: the program in README.md is this one, whole, so that it compiles
// when it is pasted into an empty module.
func TestReadmeHasThisProgram(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, pasted, found := strings.Cut(string(page), "```go\npackage main\n")
	require.True(t, found)
	pasted, _, _ = strings.Cut(pasted, "```")
	code, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(code), "\npackage main\n")
	require.True(t, found)
	require.Equal(t, strings.Fields(program), strings.Fields(pasted))
}
