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

var table = []int{one, two}

type pool[T any] struct{}

func (p *pool[T]) serve(ctx, done chan int) bool {
	if p.open && !p.full {
		p.count++
	}
	if lane, ok := p.lanes[0]; ok {
		p.send(lane, size)
	}
	select {
	case <-ctx:
	case <-done:
		p.send(nil, 0)
	}
	return p.count > 1
}

func twice() { send(1); send(2) }
`

// TestOperators: each operator changes one place, or fails with the name of the function.
func TestOperators(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sample", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join("sample", "sample.go"), []byte(sample), 0o600))
	for _, c := range []struct {
		at      string
		by      operator
		changed string // of the sample, or the error
	}{
		{"sample.pool.serve", never("open"), "if (p.open) && false && !p.full {"},
		{"sample.pool.serve", always("full"), "if p.open && ((!p.full) || true) {"},
		{"sample.pool.serve", never("open", "full"), "if (p.open && !p.full) && false {"},
		{"sample.pool.serve", never("p.lanes"), "lane, ok := p.lanes[0]; (ok) && false {"},
		{"sample.pool.serve", always("count"), "return ((p.count > 1) || true)"},
		{"sample.pool.serve", drop("p.send", "lane"), "if false { p.send(lane, size) }"},
		{"sample.pool.serve", drop("p.send"), "sample.pool.serve: drop(p.send) fits 2 places, not one"},
		{"sample.pool.serve", drop("gone"), "sample.pool.serve: drop(gone) fits 0 places, not one"},
		{"sample.pool.serve", without("done"), "case <-ctx:\n\t\n\t}"},
		{"sample.pool.serve", instead("p.count  >  1", "true"), "return true"},
		{"sample.pool.serve", instead("p.count > 2", "true"), "fits 0 places"},
		{"sample.pool.serve", becomes("p.count += 2", "p.count++"), "fits 0 places"},
		{"sample.pool.serve", value("7"), "is no constant"},
		{"sample.twice", before("rest()", "1"), "rest(); send(1)"},
		{"sample.twice", after("rest()", "2"), "send(2); rest()"},
		{"sample.twice", becomes("rest(100%)", "2"), "send(1); rest(100%)"},
		{"sample.twice", begins("return"), "func twice() { return; send(1)"},
		{"sample.size", value("9"), "const size = 9"},
		{"sample.table", without("one"), "[]int{two}"},
		{"sample.table", spelled("one", "1"), "[]int{1, two}"},
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
