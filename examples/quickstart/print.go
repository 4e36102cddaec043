package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redislanes/redislanes"
)

// A printer writes until the first error, which it keeps.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table writes rows of cells in aligned columns.
func (p *printer) table(rows [][]string) {
	aligned := tabwriter.NewWriter(p.w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if p.err == nil {
			_, p.err = io.WriteString(aligned, strings.Join(row, "\t")+"\n")
		}
	}
	if p.err == nil {
		p.err = aligned.Flush()
	}
}

func (p *printer) request(number, groups int, took time.Duration) {
	how := "sent"
	if groups > 1 {
		how = "sent in parallel"
	}
	note := ""
	if number == 1 {
		note = " (the first one also connects)"
	}
	p.printf("Request %d: %s %s, answered in %s%s\n", number, count(groups, "group"), how, took.Round(time.Microsecond), note)
}

func (p *printer) hits(hits []hit) {
	rows := [][]string{{"KEY", "SLOT", "NODE", "TOTAL"}}
	for _, h := range hits {
		total := strconv.FormatInt(h.total, 10)
		if h.err != nil {
			total = "failed: " + h.err.Error()
		}
		rows = append(rows, []string{h.key, strconv.Itoa(int(h.slot)), cmp.Or(h.node, "-"), total})
	}
	p.table(rows)
}

func (p *printer) stats(s redislanes.Stats) {
	p.printf("\nThe connections to each node now:\n\n")
	slices.SortFunc(s.Nodes, func(a, b redislanes.NodeStats) int { return strings.Compare(a.Pool.Addr, b.Pool.Addr) })
	rows := [][]string{{"NODE", "POOL", "OPEN", "IN USE", "IN FLIGHT", "WAITERS", "DIALS"}}
	for _, n := range s.Nodes {
		rows = append(rows, []string{
			n.Pool.Addr, n.Pool.Kind, fmt.Sprintf("%d of %d", n.Pool.Open, n.Pool.Size), strconv.Itoa(n.Pool.InUse),
			strconv.Itoa(n.Pool.InFlight()), strconv.Itoa(n.Pool.Waiters), strconv.FormatUint(n.Pool.Dials, 10),
		})
	}
	p.table(rows)
	p.printf("\nOPEN and IN USE are connections; IN FLIGHT are groups without an answer yet, WAITERS groups that\n" +
		"wait for a connection; DIALS are attempts to connect so far.\n")
}

// count returns a number of things in English.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
