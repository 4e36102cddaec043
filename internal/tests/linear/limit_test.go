package linear

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
)

// A decision is one call of Allow with a hit on one limit, and what its caller was told.
type decision struct {
	Name    string // of the limit
	Quota   int64  // of the limit
	Process int
	Allowed bool
	Leased  bool

	slack int64 // of a denied call: at most so many hits may have been counted in addition to the allowed ones
}

// A told is what an observer was told about hits.
type told struct {
	Name string
	What string
	N    int64
	At   int64
}

// A watcher is the observer of one process.
type watcher struct {
	now  func() int64
	mu   sync.Mutex
	told []told
}

func (w *watcher) Decided(time.Duration, []limit.Request, limit.Result) {}

func (w *watcher) Hits(of *limit.Limit, what string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, told{of.Rule().Name, what, n, w.now()})
}

// sum adds up what was told until then.
func (w *watcher) sum(name string, what string, until int64) (n int64) {
	for _, t := range w.told {
		if t.Name == name && t.What == what && t.At <= until {
			n += t.N
		}
	}
	return n
}

// granted returns how many hits leases may have had until then: those of a refill may be counted before
// the watcher is told.
func (w *watcher) granted(name string, until int64) (n int64) {
	for _, t := range w.told {
		if t.Name == name && t.What == "leased" {
			if n += t.N; t.At > until {
				break
			}
		}
	}
	return n
}

// slack returns how many hits may have been counted during a denial, at most, beside those that
// were allowed: those of leases that nobody had used, and those of other calls that were denied and not
// yet given back.
func slack(denial porcupine.Operation, ops []porcupine.Operation, watchers []*watcher) (n int64) {
	name := denial.Output.(decision).Name
	for process, w := range watchers {
		used, denied := int64(0), int64(0)
		for _, op := range ops {
			d := op.Output.(decision)
			if d.Name != name || d.Process != process {
				continue
			}
			switch {
			case d.Leased && op.Return < denial.Call:
				used++
			case !d.Allowed && op.Call < denial.Call:
				denied++
			}
			if !d.Allowed && op.Call <= denial.Return && op.Return >= denial.Call {
				n++ // the denial itself is one of them
			}
		}
		n += w.granted(name, denial.Return) - used
		n -= max(0, w.sum(name, "returned", denial.Call)-denied) // each denial has returned one at most
	}
	return n
}

// limitModel allows hits up to the limit, and denies one only if the counter may have been full.
var limitModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		parts := make(map[string][]porcupine.Operation) // by limit
		for _, op := range all {
			name := op.Output.(decision).Name
			parts[name] = append(parts[name], op)
		}
		return slices.Collect(maps.Values(parts))
	},
	Init: func() any { return int64(0) },
	Step: func(state, _, output any) (bool, any) {
		allowed, d := state.(int64), output.(decision)
		if d.Allowed {
			return allowed < d.Quota, allowed + 1
		}
		return allowed+d.slack > d.Quota, allowed
	},
}

// TestLimitIsLinearizable: eight processes with leases use up three limits, one of each algorithm.
// Porcupine looks for an order of all decisions in which no limit is exceeded and no hit is denied
// too early.
func TestLimitIsLinearizable(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	began := time.Now()
	var all [8]*process
	for i := range all {
		all[i] = startProcess(t, task{real.Addrs(), i, began.UnixNano()})
	}
	for _, p := range all {
		p.awaitReady()
	}
	for _, p := range all {
		p.goOn()
	}
	var ops []porcupine.Operation
	var watchers []*watcher
	for _, p := range all {
		r := p.report()
		for _, d := range r.Calls {
			ops = append(ops, porcupine.Operation{ClientId: d.Caller, Call: d.Call, Return: d.Return, Output: d.decision})
		}
		watchers = append(watchers, &watcher{told: r.Told})
	}
	judge(t, ops, watchers)
}

func judge(t *testing.T, ops []porcupine.Operation, watchers []*watcher) {
	allowed, leased, slacks := make(map[string]int64), 0, []int64(nil)
	for i, op := range ops {
		d := op.Output.(decision)
		if d.Leased {
			leased++
		}
		if d.Allowed {
			allowed[d.Name]++
			continue
		}
		d.slack = slack(op, ops, watchers)
		slacks = append(slacks, d.slack)
		ops[i].Output = d
	}
	slices.Sort(slacks)
	median := slacks[len(slacks)/2]
	t.Logf("%d decisions, %d by leases, allowed %v; half of the denials have a slack of %d at most", len(ops), leased, allowed, median)
	require.Greater(t, leased, 500)
	require.Less(t, median, int64(200), "with much slack, the check says little")
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(limitModel, ops, 30*time.Second))
}

// TestLimitModel: the check of TestLimitIsLinearizable rejects wrong histories. They are short,
// because the search through a long wrong one takes too long.
func TestLimitModel(t *testing.T) {
	hit := func(process int, call, end int64, allowed, leased bool) porcupine.Operation {
		return porcupine.Operation{ClientId: process, Call: call, Return: end, Output: decision{Name: "a", Quota: 2, Process: process, Allowed: allowed, Leased: leased}}
	}
	two := []porcupine.Operation{hit(0, 1, 2, true, false), hit(1, 3, 4, true, false)}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		told []told // to process 0
		want porcupine.CheckResult
	}{
		"as many as allowed":            {two, nil, porcupine.Ok},
		"denied after them":             {append(two, hit(0, 5, 6, false, false)), nil, porcupine.Ok},
		"denied beside the last one":    {append(two, hit(0, 2, 5, false, false)), nil, porcupine.Ok},
		"one too many":                  {append(two, hit(0, 5, 6, true, false)), nil, porcupine.Illegal},
		"one too many, at a time":       {append(two, hit(2, 1, 4, true, false)), nil, porcupine.Illegal},
		"a lease has one too many":      {append(two, hit(0, 5, 6, true, true)), []told{{"a", "leased", 1, 0}}, porcupine.Illegal},
		"denied too early":              {append(two, hit(0, 0, 1, false, false)), nil, porcupine.Illegal},
		"a lease has what is missing":   {append(two[:1:1], hit(1, 3, 4, false, false)), []told{{"a", "leased", 1, 0}}, porcupine.Ok},
		"a refill may be counted":       {append(two[:1:1], hit(1, 3, 4, false, false)), []told{{"a", "leased", 1, 9}}, porcupine.Ok},
		"the lease was used before":     {append(two[:1:1], hit(0, 1, 2, true, true), hit(1, 3, 4, false, false)), []told{{"a", "leased", 1, 0}}, porcupine.Ok},
		"the lease was returned before": {append(two[:1:1], hit(1, 3, 4, false, false)), []told{{"a", "leased", 1, 0}, {"a", "returned", 1, 2}}, porcupine.Illegal},
		"two denied at a time":          {append(two[:1:1], hit(1, 3, 5, false, false), hit(0, 4, 6, false, false)), nil, porcupine.Ok},
		"one denied alone":              {append(two[:1:1], hit(1, 3, 5, false, false)), nil, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			watchers := []*watcher{{told: c.told}, {}, {}}
			for i, op := range c.ops {
				if d := op.Output.(decision); !d.Allowed {
					d.slack = slack(op, c.ops, watchers)
					c.ops[i].Output = d
				}
			}
			require.Equal(t, c.want, porcupine.CheckOperationsTimeout(limitModel, c.ops, time.Second))
		})
	}
}
