package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/table"
	"github.com/redislanes/redislanes/bench/verdict"
)

// judge says how the phase did under an open loop, and which share of the requests
// was in time. A part that was cut short says nothing of a rate.
func (p *Phase) judge() {
	f := verdict.Figures{
		Target: p.load.Rate, Actual: p.Rate(), Failed: p.FailedShare(), P99: p.Latency.At(99), Measured: p.Requests > 0,
	}
	if all := p.Requests + p.Failed(); p.hasSLA() && all > 0 {
		p.InTime = float64(p.Within(p.load.SLA.Within.Duration)) / float64(all)
		f.SLA, f.InTime = p.load.SLA.Share, p.InTime
	}
	if p.load.Rate > 0 && !p.Partial {
		p.Verdict, p.Why = verdict.Of(f)
	}
}

func (p *Phase) hasSLA() bool { return p.load.SLA.Within.Duration > 0 }

// inTime is a cell of a table.
func (p *Phase) inTime() string {
	if !p.hasSLA() {
		return ""
	}
	return percent(p.InTime)
}

// A Limit is how many requests a second an endpoint serves, by the rates that were measured.
type Limit struct {
	Run      string // what else tells its runs from the others
	Endpoint string
	verdict.Limit
	Why string // it does not hold more

	points []verdict.Point
	why    map[float64]string // by rate
}

// limits are those of each endpoint whose rate was varied.
func (r *Report) limits() (all []Limit) {
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		i := slices.IndexFunc(run.Varied, func(v settings.Value) bool { return v.Key == "rate" })
		if i < 0 || p.Verdict == "" {
			return
		}
		rest := settings.Join(slices.Delete(slices.Clone(run.Varied), i, i+1))
		at := slices.IndexFunc(all, func(l Limit) bool { return l.Run == rest && l.Endpoint == e.Name })
		if at < 0 {
			at, all = len(all), append(all, Limit{Run: rest, Endpoint: e.Name, why: make(map[float64]string)})
		}
		all[at].points = append(all[at].points, verdict.Point{At: p.load.Rate, Holds: p.Verdict.Holds()})
		all[at].why[p.load.Rate] = p.Why
	})
	for i, l := range all {
		all[i].Limit = verdict.Highest(l.points)
		all[i].Why = l.why[all[i].Breaks]
	}
	return all
}

func (r *Report) limitTable() *table.Table {
	t := &table.Table{Text: 2, Last: true, Head: []string{"run", "endpoint", "holds", "breaks at", "recommended (80 %)", "why it breaks"}}
	for _, l := range r.Limits {
		t.Add(l.Run, l.Endpoint, or(l.Holds, "none"), or(l.Breaks, "not reached"), or(l.Recommended, "none"), l.Why)
	}
	return t
}

// or writes a number without decimals, or another text for 0.
func or[T int | float64](n T, none string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(n))
}

// A Size is how many connections to each node a kind of pool needs for a run's
// load, by the sizes that were measured.
type Size struct {
	Run    string
	Pool   string // its kind, with what else of the client varied
	Enough int
	Less   int // the largest that is not enough; 0: none was measured
	Why    string
	Bound  string // what that one was bound by
}

// connections is the size of an endpoint's pool, to each node.
func (e *Endpoint) connections() int { return e.load.Pool.Connections() }

// sizes are those of the kinds of pools that were measured in several sizes, under an open loop.
func (r *Report) sizes() (all []Size) {
	for _, run := range r.Runs {
		groups := make(map[string][]*Endpoint) // those that differ in the size of their pools
		var names []string
		for _, e := range run.Endpoints {
			if len(e.Phases) != 1 {
				continue
			}
			name := e.load.ClientButSize() + "\n" + e.load.ButPool()
			if groups[name] == nil {
				names = append(names, name)
			}
			groups[name] = append(groups[name], e)
		}
		for _, name := range names {
			if s, ok := sizeOf(groups[name]); ok {
				s.Run = run.Name
				all = append(all, s)
			}
		}
	}
	return all
}

// sizeOf finds the answer. There is none for a single size, and for closed loops.
func sizeOf(endpoints []*Endpoint) (s Size, ok bool) {
	var points []verdict.Point
	of := make(map[int]*Phase)
	for _, e := range endpoints {
		p := e.Phases[0]
		if p.Verdict == "" {
			return s, false
		}
		points = append(points, verdict.Point{At: float64(e.connections()), Holds: p.Verdict.Holds()})
		of[e.connections()] = p
	}
	enough, less := verdict.Fewest(points)
	s = Size{Pool: endpoints[0].load.ClientButSize(), Enough: int(enough), Less: int(less)}
	if p := of[s.Less]; p != nil {
		s.Bound, s.Why = p.Bound, p.Why
	}
	return s, len(of) > 1
}

func (r *Report) sizeTable() *table.Table {
	t := &table.Table{Text: 2, Last: true, Head: []string{"run", "pool", "enough", "too few", "bound by", "why"}}
	for _, s := range r.Sizes {
		t.Add(s.Run, s.Pool, or(s.Enough, "none measured"), or(s.Less, "none measured"), s.Bound, strings.TrimSpace(s.Why))
	}
	return t
}
