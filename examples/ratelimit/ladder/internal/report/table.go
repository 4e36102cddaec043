package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes the ladder as a table in Markdown, the summary, and what went
// wrong.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Machine)
	var head []string
	for _, c := range columns {
		head = append(head, c.head)
	}
	rows := [][]string{}
	for _, s := range r.Steps {
		var row []string
		for _, c := range columns {
			row = append(row, c.of(s))
		}
		rows = append(rows, row)
	}
	markdown(&b, head, rows)
	b.WriteString("\n")
	for _, line := range r.Lines() {
		fmt.Fprintf(&b, "%-20s %s\n", line.Name+":", line.Text)
	}
	if failures := r.failures(); len(failures) > 0 {
		b.WriteString("\nFailures, which count neither for the actual rate nor for latencies:\n\n")
		markdown(&b, failureHead, failures)
	}
	if r.Interrupted {
		b.WriteString("\ninterrupted: the table has what was measured until then\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var failureHead = []string{"target/s", "failures", "kind", "text of the first one"}

// failures returns rows of the failures of all steps by kind.
func (r *Report) failures() (rows [][]string) {
	for _, s := range r.Steps {
		for _, kind := range slices.Sorted(maps.Keys(s.FailureKinds)) {
			f := s.FailureKinds[kind]
			rows = append(rows, []string{number(float64(s.Target)), number(float64(f.Count)), kind, f.Example})
		}
	}
	return rows
}

// markdown writes cells that line up in a terminal. Columns whose first cell
// begins with a digit are aligned to the right.
func markdown(b *strings.Builder, head []string, rows [][]string) {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(escape(cell)))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(escape(cell)))
			if isNumeric(rows, i) {
				fmt.Fprintf(b, "| %s%s ", pad, escape(cell))
			} else {
				fmt.Fprintf(b, "| %s%s ", escape(cell), pad)
			}
		}
		b.WriteString("|\n")
	}
	line(head)
	for i, width := range widths {
		if isNumeric(rows, i) {
			fmt.Fprintf(b, "|%s:", strings.Repeat("-", width+1))
		} else {
			fmt.Fprintf(b, "|%s", strings.Repeat("-", width+2))
		}
	}
	b.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
}

func isNumeric(rows [][]string, column int) bool {
	return len(rows) > 0 && strings.IndexAny(rows[0][column], "-0123456789") == 0
}

// escape keeps a text of others from ending its cell.
func escape(cell string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(cell)
}
