package live

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// A Snapshot is the data of the page. Counters count from the start of the process.
type Snapshot struct {
	Time      float64            `json:"time"` // seconds since 1970
	Decisions map[string]float64 `json:"decisions"`
	Hits      map[string]float64 `json:"hits"`
	Latency   []Bucket           `json:"latency"`
	Pools     []*Pool            `json:"pools"`
	Errors    map[string]float64 `json:"errors"`
	Moved     float64            `json:"moved"` // MOVED redirects: slots have another node
}

// A Bucket is how many decisions took no longer.
type Bucket struct {
	Seconds float64 `json:"seconds"` // 0 for the last one, which has no bound
	Count   float64 `json:"count"`
}

// A Pool is the connections to one node.
type Pool struct {
	Node       string  `json:"node"`
	Role       string  `json:"role"`
	Open       float64 `json:"open"`
	Most       float64 `json:"most"`
	InFlight   float64 `json:"in_flight"`
	Waiters    float64 `json:"waiters"`
	Saturation float64 `json:"saturation"`
	State      string  `json:"state"` // up or down
}

// snapshotOf picks what the page draws.
func snapshotOf(families []*dto.MetricFamily, now time.Time) Snapshot {
	s := Snapshot{Time: float64(now.UnixMilli()) / 1000, Decisions: counts{}, Hits: counts{}, Errors: counts{}, Pools: []*Pool{}}
	pools := make(map[[2]string]*Pool)
	for _, f := range families {
		switch name := f.GetName(); name {
		case "redislanes_limit_decisions_total":
			counts(s.Decisions).add(f, "outcome", "")
		case "redislanes_limit_hits_total":
			counts(s.Hits).add(f, "hits", "")
		case "redislanes_limit_duration_seconds":
			s.Latency = buckets(f)
		case "redislanes_redirects_total":
			moved := counts{}
			moved.addOnly(f, "kind", "moved", "moved")
			s.Moved = moved["moved"]
		case "redislanes_error_replies_total":
			counts(s.Errors).add(f, "code", "reply ")
		case "redislanes_dials_total":
			counts(s.Errors).addOnly(f, "result", "error", "failed dials")
		case "redislanes_pool_exhausted_total":
			counts(s.Errors).add(f, "", "pool exhausted")
		case "ratelimit_requests_total":
			counts(s.Errors).addFailures(f)
		case "ratelimit_shed_total":
			counts(s.Errors).add(f, "", "shed")
		case "ratelimit_quota_lease_failures_total":
			counts(s.Errors).add(f, "", "leases not renewed")
		default:
			if set := poolFigures[name]; set != nil {
				each(pools, f, set)
			}
		}
	}
	for _, c := range []map[string]float64{s.Decisions, s.Hits, s.Errors} {
		maps.DeleteFunc(c, neverHappened)
	}
	s.Pools = slices.AppendSeq(s.Pools, maps.Values(pools))
	slices.SortFunc(s.Pools, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Node, b.Node))
	})
	return s
}

var poolFigures = map[string]func(*Pool, float64){
	"redislanes_pool_open_connections":  func(p *Pool, v float64) { p.Open = v },
	"redislanes_pool_max_connections":   func(p *Pool, v float64) { p.Most = v },
	"redislanes_pool_in_flight_batches": func(p *Pool, v float64) { p.InFlight = v },
	"redislanes_pool_waiters":           func(p *Pool, v float64) { p.Waiters = v },
	"redislanes_pool_saturation_ratio":  func(p *Pool, v float64) { p.Saturation = v },
	"redislanes_pool_down": func(p *Pool, v float64) {
		if v > 0 {
			p.State = "down"
		}
	},
}

func each(pools map[[2]string]*Pool, f *dto.MetricFamily, set func(*Pool, float64)) {
	for _, m := range f.GetMetric() {
		at := [2]string{label(m, "node"), label(m, "role")}
		if pools[at] == nil {
			pools[at] = &Pool{Node: at[0], Role: at[1], State: "up"}
		}
		set(pools[at], m.GetGauge().GetValue())
	}
}

// neverHappened tells what has no line on the page yet: most outcomes and errors of all that
// there are.
func neverHappened(name string, count float64) bool {
	return count == 0 && name != "allowed" && name != "denied" && name != "counted"
}

// counts are sums of counters by the value of a label.
type counts map[string]float64

// add sums by the label, or all together if there is none.
func (c counts) add(f *dto.MetricFamily, by, prefix string) {
	for _, m := range f.GetMetric() {
		c[prefix+label(m, by)] += m.GetCounter().GetValue()
	}
}

func (c counts) addOnly(f *dto.MetricFamily, by, value, name string) {
	for _, m := range f.GetMetric() {
		if label(m, by) == value {
			c[name] += m.GetCounter().GetValue()
		}
	}
}

// addFailures adds requests whose code is neither a decision nor the client's own mistake.
func (c counts) addFailures(f *dto.MetricFamily) {
	for _, m := range f.GetMetric() {
		switch code := label(m, "code"); {
		case code == "Unavailable", code == "Internal", code == "Unknown", strings.HasPrefix(code, "5"):
			c["answer "+code] += m.GetCounter().GetValue()
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// buckets are those of all histograms of the family together, which have the same bounds.
func buckets(f *dto.MetricFamily) []Bucket {
	below := make(map[float64]float64)
	all := 0.0
	for _, m := range f.GetMetric() {
		h := m.GetHistogram()
		all += float64(h.GetSampleCount())
		for _, b := range h.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) {
				below[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		}
	}
	var sum []Bucket
	for _, bound := range slices.Sorted(maps.Keys(below)) {
		sum = append(sum, Bucket{bound, below[bound]})
	}
	return append(sum, Bucket{0, all})
}
