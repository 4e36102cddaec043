package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func printed(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(&out, root))
	return out.String()
}

// library is a module, by file. It is not in testdata: whatever looks for modules
// here would find the other one.
var library = map[string]string{
	"other/go.mod":              "module other\n",
	"other/other.go":            "package other\n\nfunc Elsewhere() {}\n",
	"internal/hidden/hidden.go": "package hidden\n\nfunc Hidden() {}\n",
	"program/main.go":           "package main\n\nfunc Exported() {}\n\nfunc main() {}\n",
	"shown/shown_test.go":       "package shown\n\nfunc OnlyInTests() {}\n",
	"shown/shown.go": `package shown

import "io"

const (
	One, two = 1, 2
	Three    = 3
)

var Failed error

func Do(a, b int, more ...string) (n int, err error) { return one(a) }

func one(n int) (int, error) { return n, nil }

type Open struct {
	io.Reader
	Name, Value string
	hidden      func()
	OnEvent     func(string) error
}

func (o *Open) Close() error { return nil }

func (o Open) quiet() {}

type shut struct{ Field int }

func (shut) Method() {}

type Closed interface {
	io.Closer
	Do(n int) string
	secret()
}

type Number int

type Same = Number
`,
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	for name, text := range library {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.Equal(t, `shown: const One
shown: const Three
shown: func Do(a, b int, more ...string) (n int, err error)
shown: method (*Open) Close() error
shown: type Closed interface
shown: type Closed interface, Do(n int) string
shown: type Closed interface, embeds io.Closer
shown: type Closed interface, is closed
shown: type Number int
shown: type Open struct
shown: type Open struct, Name string
shown: type Open struct, OnEvent func(string) error
shown: type Open struct, Value string
shown: type Open struct, embeds io.Reader
shown: type Same = Number
shown: var Failed
`, printed(t, root))
}

// TestAPIIsWrittenDown fails where the public surface is not what api.txt says: a
// change of it is to be seen in the diff. "make api" writes it.
func TestAPIIsWrittenDown(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := os.ReadFile(filepath.Join(root, "api.txt"))
	require.NoError(t, err)
	written, found := strings.Split(string(want), "\n"), strings.Split(printed(t, root), "\n")
	added, removed := without(found, written), without(written, found)
	require.Empty(t, append(added, removed...), "the public surface has changed: run make api and look at the diff of api.txt")
	require.Len(t, written, len(found), "api.txt has a line twice")
}

// without returns the lines that others do not have.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}
