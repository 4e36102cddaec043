package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/internal/usage"
	"github.com/redislanes/redislanes/bench/rawfile"
	"github.com/redislanes/redislanes/bench/table"
)

// WriteTable prints what a person reads first: one table of all runs, what they
// answer, and what went wrong.
func (r *Report) WriteTable(w io.Writer) {
	if r.Question != "" {
		table.Print(w, "%s\n\n", strings.TrimSpace(r.Question))
	}
	table.Print(w, "%s\n\n", r.source())
	table.Print(w, "%v", r.figures())
	for _, s := range []struct {
		title string
		*table.Table
	}{
		{"How many requests a second hold, with all lower rates", r.limitTable()},
		{"The fewest connections to each node that are enough, with all larger pools", r.sizeTable()},
		{"Errors, which count neither as throughput nor as latency", r.errorTable()},
		{"What it used; processors in numbers of them, bytes by request", r.resourceTable()},
		{"Connections, all nodes together; open at each tenth of the step in the last round", r.connectionTable()},
	} {
		if len(s.Rows) > 0 {
			table.Print(w, "\n%s:\n\n%v", s.title, s.Table)
		}
	}
	if warning := r.disturbed(); warning != "" {
		table.Print(w, "\n%s", warning)
	}
	if end := r.ending(); end != "" {
		table.Print(w, "\n%s\n", end)
	}
}

// disturbed warns of rows in which other processes used much of the processors.
func (r *Report) disturbed() string {
	bad, all := 0, 0
	r.each(func(_ *Run, _ *Endpoint, p *Phase) {
		if all++; p.disturbed(r.Machine) {
			bad++
		}
	})
	return usage.Warning(bad, all, "rows")
}

// ending says why not all was measured; "" if it was.
func (r *Report) ending() string {
	switch {
	case r.Failure != "":
		return "ended early: " + r.Failure
	case r.Interrupted:
		return "interrupted: the table has what was measured until then"
	}
	return ""
}

// source says where the figures are from.
func (r *Report) source() string {
	m := r.Machine
	where := "started for this"
	if m.Given {
		where = "an existing cluster"
	}
	return fmt.Sprintf("%s: %s, redislanes %s, redis %s (%s)", r.File, rawfile.Source(m.Machine), m.Library,
		strings.Join(m.Redis, ", "), where)
}

// figures is the table of all runs.
func (r *Report) figures() *table.Table {
	t := &table.Table{Text: 2, Head: []string{"run", "endpoint", "requests", "errors", "failed"}}
	open, sla := false, false
	r.each(func(_ *Run, _ *Endpoint, p *Phase) {
		open, sla = open || p.Verdict != "", sla || p.hasSLA()
	})
	if sla {
		t.Head = append(t.Head, "in time")
	}
	if open {
		t.Head = append(t.Head, "verdict")
	}
	t.Head = append(t.Head, "req/s", "avg", "P50", "P95", "P99", "P99.9", "max", "CPU/req", "allocs/req", "max waiters", "saturation")
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		counts := []string{fmt.Sprint(p.Requests), fmt.Sprint(p.Failed()), percent(p.FailedShare())}
		if sla {
			counts = append(counts, p.inTime())
		}
		if open {
			counts = append(counts, string(p.Verdict))
		}
		t.Add(slices.Concat([]string{run.Name, e.RowName(p)}, counts, latencyCells(p.Rate(), p.Latency), []string{
			table.Nanoseconds(p.PerRequest(float64(p.CPU))), fmt.Sprintf("%.1f", p.PerRequest(float64(p.Mallocs))), fmt.Sprint(p.Use.MaxWaiters),
			fmt.Sprintf("%.2f", p.Use.MaxSaturation)})...)
		if p.Slow.Count() == 0 {
			return
		}
		for _, part := range []struct {
			name string
			load.Histogram
		}{{"fast", p.Fast()}, {"slow", p.Slow}} {
			if n := part.Count(); n > 0 {
				counts := make([]string, len(counts))
				counts[0] = fmt.Sprint(n)
				t.Add(slices.Concat([]string{run.Name, e.RowName(p) + ", " + part.name}, counts,
					latencyCells(float64(n)/p.Took.Seconds(), part.Histogram), make([]string, 4))...)
			}
		}
	})
	return t
}

func latencyCells(rate float64, l load.Histogram) []string {
	return []string{fmt.Sprintf("%.0f", rate), table.Nanoseconds(l.Mean()), table.Duration(l.At(50)), table.Duration(l.At(95)),
		table.Duration(l.At(99)), table.Duration(l.At(99.9)), table.Duration(time.Duration(l.Max()))}
}

// RowName names a phase of the endpoint.
func (e *Endpoint) RowName(p *Phase) string {
	if len(e.Phases) < 2 {
		return e.Name
	}
	return fmt.Sprintf("%s [%d] %d callers", e.Name, slices.Index(e.Phases, p)+1, p.Callers)
}

func (r *Report) errorTable() *table.Table {
	t := &table.Table{Text: 4, Head: []string{"run", "endpoint", "error", "its first text", "requests"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		for _, kind := range slices.Sorted(maps.Keys(p.Errors)) {
			f := p.Errors[kind]
			t.Add(run.Name, e.RowName(p), kind, f.Example, fmt.Sprint(f.Count))
		}
	})
	return t
}

// connectionTable says how the pools followed the steps of the load.
func (r *Report) connectionTable() *table.Table {
	t := &table.Table{Text: 2, Head: []string{"run", "endpoint", "callers", "opened", "closed", "open"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		if len(e.Phases) > 1 {
			t.Add(run.Name, e.Name, fmt.Sprint(p.Callers), fmt.Sprint(p.Use.Dials), fmt.Sprint(p.Use.Closes), openOverTime(p))
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
