package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// An Error is one mistake in a file.
type Error struct {
	File         string
	Line, Column int    // from 1
	Key          string // with those above it, such as pool.size; may be empty
	Message      string
}

func (e *Error) Error() string {
	where := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Key != "" {
		where += e.Key + ": "
	}
	return where + e.Message
}

// A decoder gathers the mistakes of a file.
type decoder struct {
	file   string
	errors []*Error
}

func (d *decoder) fail(n *yaml.Node, key, format string, args ...any) {
	d.errors = append(d.errors, &Error{d.file, n.Line, n.Column, key, fmt.Sprintf(format, args...)})
}

// err returns all mistakes in the file's order, each once; nil if there are none.
func (d *decoder) err() error {
	slices.SortStableFunc(d.errors, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for i, e := range d.errors {
		if i == 0 || *e != *d.errors[i-1] {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}

// unknown reports a key that does not exist, with the nearest that does.
func (d *decoder) unknown(n *yaml.Node, path string, known []string) {
	d.fail(n, path, "unknown key%s; known are %s", didYouMean(n.Value, known), strings.Join(known, ", "))
}

// didYouMean returns words that suggest the nearest name, or nothing if none is
// near.
func didYouMean(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, k := range known {
		if n := edits(name, k); n <= distance && (best == "" || n < distance) {
			best, distance = k, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// edits returns the Levenshtein distance of two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
