package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redislanes/redislanes/bench/compare/internal/verdict"
)

// A table is cells that line up in a terminal and are a table in Markdown.
type table struct {
	head []string
	rows [][]string
	text int  // columns of text at the left; the others are numbers
	last bool // and the last column, which is text, too

	bad map[int]bool // rows of what did not do what it should
}

// isText reports whether a column is aligned to the left.
func (t *table) isText(column int) bool {
	return column < t.text || t.last && column == len(t.head)-1
}

// escaped returns a text that does not end its cell.
func escaped(cell string) string { return strings.ReplaceAll(cell, "|", "\\|") }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(escaped(cell)))
		}
	}
	t.line(w, t.head, widths)
	say(w, "|")
	for i, width := range widths {
		if t.isText(i) {
			say(w, "%s|", strings.Repeat("-", width+2))
		} else {
			say(w, "%s:|", strings.Repeat("-", width+1))
		}
	}
	say(w, "\n")
	for _, row := range t.rows {
		t.line(w, row, widths)
	}
}

func (t *table) line(w io.Writer, row []string, widths []int) {
	say(w, "|")
	for i, cell := range row {
		cell = escaped(cell)
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.isText(i) {
			say(w, " %s%s |", cell, pad)
		} else {
			say(w, " %s%s |", pad, cell)
		}
	}
	say(w, "\n")
}

// WriteTable prints what a person reads first: one table of all runs, what they
// answer, and what went wrong.
func (r *Report) WriteTable(w io.Writer) {
	if r.Question != "" {
		say(w, "%s\n\n", strings.TrimSpace(r.Question))
	}
	say(w, "%s\n\n", r.Source())
	if t := r.figures(); len(t.rows) > 0 {
		t.write(w)
	}
	for _, s := range r.sections() {
		say(w, "\n%s:\n\n", s.title)
		s.table.write(w)
	}
	for i, n := range r.Notes() {
		if i == 0 {
			say(w, "\n")
		}
		say(w, "- %s\n", n)
	}
	if end := r.Ending(); end != "" {
		say(w, "\n%s\n", end)
	}
}

// Ending says why not all was measured; "" if it was.
func (r *Report) Ending() string {
	switch {
	case r.Failure != "":
		return "ended early: " + r.Failure
	case r.Interrupted:
		return "interrupted: the table has what was measured until then"
	}
	return ""
}

// A Table is one for a page.
type Table struct {
	Title   string
	Columns []Cell
	Rows    []Row
}

// A Row is cells of a table.
type Row struct {
	Bad   bool // what it is about did not do what it should
	Cells []Cell
}

// A Cell is text or a number.
type Cell struct {
	Text   string
	IsText bool
}

// Tables are those that WriteTable prints.
func (r *Report) Tables() (all []Table) {
	for _, s := range append([]section{{"Figures", r.figures()}}, r.sections()...) {
		t := Table{Title: s.title, Columns: s.table.cells(s.table.head)}
		for i, cells := range s.table.rows {
			t.Rows = append(t.Rows, Row{s.table.bad[i], s.table.cells(cells)})
		}
		all = append(all, t)
	}
	return all
}

func (t *table) cells(texts []string) (all []Cell) {
	for i, text := range texts {
		all = append(all, Cell{text, t.isText(i)})
	}
	return all
}

// A section is a table with what it is about.
type section struct {
	title string
	table *table
}

// sections are all tables but the first; those without rows are left out.
func (r *Report) sections() (all []section) {
	for _, s := range []section{
		{"How many requests a second hold, with all lower rates", r.limitTable()},
		{"The fewest connections to each node that are enough, with all larger pools", r.sizeTable()},
		{"Errors, which count neither as throughput nor as latency", r.errorTable()},
		{"What it used; processors in numbers of them, bytes by request", r.resourceTable()},
		{"Connections, all nodes together; open at each tenth of the step in the last round", r.connectionTable()},
	} {
		if len(s.table.rows) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// Source says where the figures are from.
func (r *Report) Source() string {
	m := r.Machine
	where := "started for this"
	if m.Given {
		where = "an existing cluster"
	}
	return fmt.Sprintf("%s: %s, %s/%s, %d CPUs%s, %s, redislanes %s%s, redis %s (%s)", r.File, m.Date.Format(time.DateOnly), m.OS, m.Arch,
		m.CPUs, prefixed(" ", m.CPU), m.Go, m.Library, prefixed(" ", m.Commit), strings.Join(m.Redis, ", "), where)
}

func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + "(" + text + ")"
}

// figures is the table of all runs.
func (r *Report) figures() *table {
	t := &table{text: 2, head: []string{"run", "endpoint", "requests", "errors", "failed"}, bad: make(map[int]bool)}
	open, sla := false, false
	r.each(func(_ *Run, _ *Endpoint, p *Phase) {
		open, sla = open || p.Verdict != "", sla || p.InTime != nil
	})
	if sla {
		t.head = append(t.head, "in time")
	}
	if open {
		t.head = append(t.head, "verdict")
	}
	t.head = append(t.head, "req/s", "avg", "P50", "P95", "P99", "P99.9", "max", "CPU/req", "allocs/req", "max waiters", "saturation")
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		counts := []string{fmt.Sprint(p.Requests), fmt.Sprint(p.Failed), percent(p.FailedShare())}
		if sla {
			counts = append(counts, p.inTimeText())
		}
		if open {
			counts = append(counts, string(p.Verdict))
		}
		if p.FailedShare() > verdict.MostFailures || p.Verdict != "" && !p.Verdict.Holds() {
			t.bad[len(t.rows)] = true
		}
		t.add(slices.Concat([]string{run.Name, e.RowName(p)}, counts, latencyCells(p.Rate, p.Latency), []string{
			duration(time.Duration(p.CPU)), fmt.Sprintf("%.1f", p.Allocations), fmt.Sprint(p.MaxWaiters), fmt.Sprintf("%.2f", p.MaxSaturation)})...)
		for _, k := range p.parts() {
			counts := make([]string, len(counts))
			counts[0] = fmt.Sprint(k.latency.Count)
			t.add(slices.Concat([]string{run.Name, e.RowName(p) + ", " + k.name}, counts,
				latencyCells(float64(k.latency.Count)/p.Took.Seconds(), *k.latency), make([]string, 4))...)
		}
	})
	return t
}

func latencyCells(rate float64, l Latency) []string {
	return []string{fmt.Sprintf("%.0f", rate), duration(time.Duration(l.Mean)), duration(l.At(50)), duration(l.At(95)),
		duration(l.At(99)), duration(l.At(99.9)), duration(time.Duration(l.Max))}
}

// RowName names a phase of the endpoint.
func (e *Endpoint) RowName(p *Phase) string {
	if len(e.Phases) < 2 {
		return e.Name
	}
	return fmt.Sprintf("%s [%d] %d callers", e.Name, slices.Index(e.Phases, p)+1, p.Callers)
}

func (r *Report) errorTable() *table {
	t := &table{text: 4, head: []string{"run", "endpoint", "error", "its first text", "requests"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		for _, kind := range sortedKeys(p.Errors) {
			f := p.Errors[kind]
			t.add(run.Name, e.RowName(p), kind, f.Example, fmt.Sprint(f.Count))
		}
	})
	return t
}

// connectionTable says how the pools followed the steps of the load.
func (r *Report) connectionTable() *table {
	t := &table{text: 2, head: []string{"run", "endpoint", "callers", "opened", "closed", "open"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		if len(e.Phases) > 1 {
			t.add(run.Name, e.Name, fmt.Sprint(p.Callers), fmt.Sprint(p.Dials), fmt.Sprint(p.Closes), openOverTime(p))
		}
	})
	return t
}

func openOverTime(p *Phase) string {
	const parts = 10
	var open []string
	for i := range parts {
		if at := i * len(p.Samples) / parts; at < len(p.Samples) {
			open = append(open, fmt.Sprint(p.Samples[at].Open))
		}
	}
	return strings.Join(open, " ")
}

func (r *Report) each(f func(*Run, *Endpoint, *Phase)) {
	for _, run := range r.Runs {
		for _, e := range run.Endpoints {
			for _, p := range e.Phases {
				f(run, e, p)
			}
		}
	}
}

// duration rounds to three digits.
func duration(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(float64(d)))-2)
	return d.Round(time.Duration(max(1, unit))).String()
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
