package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A table is cells that line up in a terminal and are a table in Markdown.
type table struct {
	head []string
	rows [][]string
	text int // columns of text at the left; the others are numbers
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.line(w, t.head, widths)
	say(w, "|")
	for i, width := range widths {
		if i < t.text {
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
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i < t.text {
			say(w, " %s%s |", cell, pad)
		} else {
			say(w, " %s%s |", pad, cell)
		}
	}
	say(w, "\n")
}

// WriteTable prints what a person reads first: one table of all runs, and what
// went wrong.
func (r *Report) WriteTable(w io.Writer) {
	r.writeHead(w)
	t := &table{text: 2, head: []string{"run", "endpoint", "requests", "errors", "req/s", "avg", "P50", "P95", "P99", "P99.9",
		"CPU/req", "allocs/req", "max waiters", "saturation"}}
	for _, run := range r.Runs {
		for _, e := range run.Endpoints {
			for _, p := range e.Phases {
				t.phase(run, e, p)
			}
		}
	}
	if len(t.rows) > 0 {
		t.write(w)
	}
	r.writeErrors(w)
	if r.hasSteps() {
		r.writeConnections(w)
	}
	switch {
	case r.Failure != "":
		say(w, "\nended early: %s\n", r.Failure)
	case r.Interrupted:
		say(w, "\ninterrupted: the table has what was measured until then\n")
	}
}

func (r *Report) writeHead(w io.Writer) {
	if r.Question != "" {
		say(w, "%s\n\n", strings.TrimSpace(r.Question))
	}
	m := r.Machine
	where := "started for this"
	if m.Given {
		where = "an existing cluster"
	}
	say(w, "%s: %s, %s/%s, %d CPUs%s, %s, redislanes %s, redis %s (%s)\n\n", r.File, m.Date.Format(time.DateOnly), m.OS, m.Arch,
		m.CPUs, prefixed(" ", m.CPU), m.Go, m.Library, strings.Join(m.Redis, ", "), where)
}

func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + "(" + text + ")"
}

// phase adds the rows of a phase: all requests, and fast and slow ones apart
// where there are both.
func (t *table) phase(run *Run, e *Endpoint, p *Phase) {
	name := e.Name
	if len(e.Phases) > 1 {
		name = fmt.Sprintf("%s [%d] %d callers", e.Name, slices.Index(e.Phases, p)+1, p.Callers)
	}
	row := func(name string, requests int64, errors, rate string, l Latency, rest ...string) {
		t.add(append([]string{run.Name, name, fmt.Sprint(requests), errors, rate, duration(time.Duration(l.Mean)),
			duration(l.At(50)), duration(l.At(95)), duration(l.At(99)), duration(l.At(99.9))}, rest...)...)
	}
	row(name, p.Requests, fmt.Sprint(p.Failed), fmt.Sprintf("%.0f", p.Rate), p.Latency,
		duration(time.Duration(p.CPU)), fmt.Sprintf("%.1f", p.Allocations), fmt.Sprint(p.MaxWaiters), fmt.Sprintf("%.2f", p.MaxSaturation))
	if p.Slow != nil {
		seconds := p.Took.Seconds()
		row(name+", fast", p.Fast.Count, "", fmt.Sprintf("%.0f", float64(p.Fast.Count)/seconds), *p.Fast, "", "", "", "")
		row(name+", slow", p.Slow.Count, "", fmt.Sprintf("%.0f", float64(p.Slow.Count)/seconds), *p.Slow, "", "", "", "")
	}
}

func (r *Report) writeErrors(w io.Writer) {
	t := &table{text: 4, head: []string{"run", "endpoint", "error", "its first text", "requests"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		for _, kind := range sortedKeys(p.Errors) {
			f := p.Errors[kind]
			t.add(run.Name, e.Name, kind, strings.ReplaceAll(f.Example, "|", "\\|"), fmt.Sprint(f.Count))
		}
	})
	if len(t.rows) > 0 {
		say(w, "\nErrors, which count neither as throughput nor as latency:\n\n")
		t.write(w)
	}
}

func (r *Report) hasSteps() (found bool) {
	r.each(func(_ *Run, e *Endpoint, _ *Phase) { found = found || len(e.Phases) > 1 })
	return found
}

// writeConnections says how the pools followed the steps of the load.
func (r *Report) writeConnections(w io.Writer) {
	say(w, "\nConnections, all nodes together; open at each tenth of the step in the last round:\n\n")
	t := &table{text: 2, head: []string{"run", "endpoint", "callers", "opened", "closed", "open"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		t.add(run.Name, e.Name, fmt.Sprint(p.Callers), fmt.Sprint(p.Dials), fmt.Sprint(p.Closes), openOverTime(p))
	})
	t.write(w)
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
