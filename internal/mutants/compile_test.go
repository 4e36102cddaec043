package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutantsCompile: a mutant that does not compile is noticed by every test, and so by none.
func TestMutantsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go in the PATH")
	}
	t.Chdir("../..")
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", compiled(t))
	for dir, all := range batched() {
		names, err := sources(dir)
		require.NoError(t, err)
		bare := make([]*ast.File, len(names)) // without the bodies of functions, to be quick
		for i, name := range names {
			bare[i] = withoutBodies(t, fset, name)
		}
		for _, b := range all {
			files := slices.Clone(bare)
			for file, m := range b {
				files[slices.Index(names, file)], err = parser.ParseFile(fset, file, m.text, parser.SkipObjectResolution)
				require.NoError(t, err, m.fault)
			}
			config := types.Config{Importer: imports, Error: func(err error) {
				var e types.Error
				if !errors.As(err, &e) {
					return
				}
				if m, found := b[fset.Position(e.Pos).Filename]; found { // the others lack bodies
					assert.NoError(t, err, m.fault)
				}
			}}
			_, _ = config.Check(dir, fset, files, nil)
		}
	}
}

// A batch has, by their files, mutants of one package that are compiled together: one of each file.
// So the file of an error tells which mutant has it.
type batch map[string]changed

type changed struct{ fault, text string }

// batched returns the mutants in batches, by the directories of their packages.
func batched() map[string][]batch {
	all := make(map[string][]batch)
	for _, m := range mutants() {
		file, text, err := m.change()
		if err != nil {
			continue // TestTableIsCurrent tells of it
		}
		dir := filepath.Dir(file)
		i := slices.IndexFunc(all[dir], func(b batch) bool { _, taken := b[file]; return !taken })
		if i < 0 {
			i = len(all[dir])
			all[dir] = append(all[dir], make(batch))
		}
		all[dir][i][file] = changed{m.fault, text}
	}
	return all
}

func withoutBodies(t *testing.T, fset *token.FileSet, name string) *ast.File {
	f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return f
}

// listFlags are those with which the packages are compiled.
var listFlags []string

// compiled returns where the importer finds what the packages of the module import.
func compiled(t *testing.T) importer.Lookup {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, listFlags...)
	out, err := exec.Command("go", append(args, "./...")...).Output()
	require.NoError(t, err)
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
}
