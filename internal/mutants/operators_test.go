package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = `package sample

const size = 8

var (
	table = []int{one, two}
	other = 3
)

func (p *pool[T]) serve(ctx, done chan int) bool {
	if p.open && !p.full {
		p.count++
	}
	return p.count > 1
}

func twice() { send(1); send(2) }
`

// TestOperators: each operator changes one place, or fails with the name of the declaration.
func TestOperators(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sample", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join("sample", "sample.go"), []byte(sample), 0o600))
	for _, c := range []struct {
		at      string
		by      operator
		changed string // of the sample, or the error
	}{
		{"sample.pool.serve", never("p.open"), "if (p.open) && false && !p.full {"},
		{"sample.pool.serve", always("!p.full"), "if p.open && ((!p.full) || true) {"},
		{"sample.pool.serve", drop("p.count++"), "if false { p.count++ }"},
		{"sample.pool.serve", begins("return true"), "bool { return true\n"},
		{"sample.pool.serve", drop("p.count"), `sample.pool.serve: "p.count" is there 2 times, not once`},
		{"sample.pool.serve", drop("send(1)"), "is there 0 times"},
		{"sample.twice", drop("send(1)"), "{ if false { send(1) }; send(2) }"},
		{"sample.twice", begins("return"), "sample.twice: it is no function"},
		{"sample.size", instead("8", "9"), "const size = 9"},
		{"sample.table", instead("one, ", ""), "[]int{two}"},
		{"sample.pool.close", never("open"), "sample.pool.close: 0 declarations have this name"},
		{"sample.serve", never("open"), "sample.serve: 0 declarations have this name"},
	} {
		m := mutant{at: c.at, by: c.by}
		_, text, err := m.change()
		if err != nil {
			text = err.Error()
		}
		assert.Contains(t, text, c.changed)
	}
}
