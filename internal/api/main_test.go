package main

import (
	"os"
	"path/filepath"
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

func TestNames(t *testing.T) {
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
`, printed(t, filepath.Join("testdata", "library")))
}

// TestAPIIsWrittenDown fails where the public surface is not what api.txt says: a
// change of it is to be seen in the diff. "make api" writes it.
func TestAPIIsWrittenDown(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := os.ReadFile(filepath.Join(root, "api.txt"))
	require.NoError(t, err)
	require.Equal(t, string(want), printed(t, root), "the public surface has changed: run make api and look at the diff of api.txt")
}
