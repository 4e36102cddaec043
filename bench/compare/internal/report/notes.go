package report

import (
	"fmt"
	"strings"

	"github.com/redislanes/redislanes/bench/internal/usage"
	"github.com/redislanes/redislanes/bench/verdict"
)

// notes says what makes the figures worth less than they seem.
func (r *Report) notes() (notes []string) {
	for _, n := range []struct {
		holds func(*Phase) bool
		text  string
	}{
		{func(p *Phase) bool { return p.FailedShare() > verdict.MostFailures },
			fmt.Sprintf("More than %s of the requests failed. The latencies are those of the others, and no measure of how it did", percent(verdict.MostFailures))},
		{func(p *Phase) bool { return p.Bound == byProcessors },
			"The processors of this machine were the limit, not the pool: its size says little there, and a larger machine would give other figures"},
		{func(p *Phase) bool { return p.Bound == byServer },
			"A server used its processor up, and was the limit, not the pool"},
		{func(p *Phase) bool { return p.Resources.disturbed(r.Machine.CPUs) }, fmt.Sprintf("Other processes used more than %s of the processors: measure again when the machine is quiet", percent(usage.Disturbed))},
	} {
		if rows := r.rows(n.holds); rows != "" {
			notes = append(notes, n.text+": "+rows+".")
		}
	}
	return notes
}

// rows names those that something holds for, as far as they can be read.
func (r *Report) rows(holds func(*Phase) bool) string {
	const shown = 4
	var names []string
	all := 0
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		all++
		if holds(p) {
			names = append(names, run.Name+" "+e.RowName(p))
		}
	})
	switch n := len(names); {
	case n == 0:
		return ""
	case n == all && n > 1:
		return "all rows"
	case n > shown:
		return fmt.Sprintf("%d of %d rows, among them %s", n, all, strings.Join(names[:shown], "; "))
	default:
		return strings.Join(names, "; ")
	}
}
