// Package table writes tables that line up in a terminal and are tables in Markdown.
package table

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A Table has cells of text.
type Table struct {
	Head []string
	Rows [][]string
	Text int  // columns at the left that are aligned to the left; the others are numbers
	Last bool // the last column is text, too
}

// New returns a table whose columns are all aligned to the left.
func New(head ...string) *Table { return &Table{Head: head, Text: len(head)} }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// isText reports whether a column is aligned to the left.
func (t *Table) isText(column int) bool {
	return column < t.Text || t.Last && column == len(t.Head)-1
}

// String is empty for a table without rows.
func (t *Table) String() string {
	if len(t.Rows) == 0 {
		return ""
	}
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(escaped(cell)))
		}
	}
	var text strings.Builder
	t.line(&text, t.Head, widths)
	for i, width := range widths {
		if t.isText(i) {
			text.WriteString("|" + strings.Repeat("-", width+2))
		} else {
			text.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
	}
	text.WriteString("|\n")
	for _, row := range t.Rows {
		t.line(&text, row, widths)
	}
	return text.String()
}

func (t *Table) line(text *strings.Builder, row []string, widths []int) {
	for i, cell := range row {
		cell = escaped(cell)
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.isText(i) {
			text.WriteString("| " + cell + pad + " ")
		} else {
			text.WriteString("| " + pad + cell + " ")
		}
	}
	text.WriteString("|\n")
}

// escaped returns a text that does not end its cell.
func escaped(cell string) string { return strings.ReplaceAll(cell, "|", "\\|") }

// Duration rounds to three digits.
func Duration(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(float64(d)))-2)
	return d.Round(time.Duration(max(1, unit))).String()
}

// Nanoseconds is Duration of a figure.
func Nanoseconds(v float64) string { return Duration(time.Duration(v)) }

// Number has no decimals, or one if there are less than three digits.
func Number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Bytes writes a size with three digits.
func Bytes(v float64) string {
	for _, u := range []struct {
		from float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}} {
		if v >= u.from {
			return fmt.Sprintf("%.3g %s", v/u.from, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

// Print prints; what cannot be printed has no better place to be reported.
func Print(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
