package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/faults.md")

// TestTableOfFaults: the table of docs/faults.md is made of the doc comments of the tests on
// real clusters. With -update it writes the table.
func TestTableOfFaults(t *testing.T) {
	const start, end = "<!-- made by go test ./internal/api -update: faults -->\n\n", "\n<!-- end -->"
	file := filepath.Join(root, "docs", "faults.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var rows []string
	for _, folder := range []string{"internal/faults", "internal/tests/linear"} {
		rows = append(rows, sayings(t, folder)...)
	}
	require.Greater(t, len(rows), 10)
	before, rest, found := strings.Cut(string(text), start)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	page := before + start + "| package, test | what it shows |\n|---|---|\n" + strings.Join(rows, "") + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		return
	}
	require.Equal(t, string(text), page, "run go test ./internal/api -run TestTableOfFaults -update")
}

// sayings returns a row for each test of the folder: its name and its doc comment.
func sayings(t *testing.T, folder string) (rows []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			doc, _, _ := strings.Cut(strings.TrimSpace(f.Doc.Text()), "\n\n")
			doc = strings.Join(strings.Fields(doc), " ")
			require.NotEmpty(t, doc, f.Name.Name)
			if about, found := strings.CutPrefix(doc, f.Name.Name+": "); found {
				doc = strings.ToUpper(about[:1]) + about[1:]
			}
			rows = append(rows, "| `"+folder+"` "+f.Name.Name+" | "+strings.ReplaceAll(doc, "|", "\\|")+" |\n")
		}
	}
	slices.Sort(rows)
	return rows
}
