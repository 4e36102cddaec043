package main

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/bench/internal/stats"
)

// A cell is one measurement's place.
type cell struct {
	tls      bool
	callers  int
	scenario string
	client   string
}

// A record is what was measured, in one run or in several.
type record struct {
	starts []start
	most   map[bool]float64 // commands a second of redis-benchmark, by TLS; none: not measured
	turns  map[cell][]turn
	cuts   []cutTurn
	parts  []partTurn

	leaseTurns []leaseTurn

	over      []bool // TLS or not; this and what follows in the order of the turns
	callers   []int
	scenarios []string
	clients   []string
}

func newRecord() *record {
	return &record{most: make(map[bool]float64), turns: make(map[cell][]turn)}
}

func (r *record) add(t turn) {
	r.over = withNew(r.over, t.TLS)
	r.callers = withNew(r.callers, t.Callers)
	r.scenarios = withNew(r.scenarios, t.Scenario)
	r.clients = withNew(r.clients, t.Client)
	r.turns[t.cell()] = append(r.turns[t.cell()], t)
}

func withNew[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// over returns the figure in the rounds of a cell.
func (f figure) over(turns []turn) stats.Spread {
	var values []float64
	for _, t := range turns {
		values = append(values, f.of(t))
	}
	return stats.Of(values)
}

// ratio returns one's figure to the other's, round by round. There is none if they
// have no round in common, or if the figure was zero.
func (f figure) ratio(one, other []turn) (s stats.Spread, ok bool) {
	var values []float64
	for _, t := range one {
		for _, o := range other {
			if o.Round == t.Round && f.of(o) > 0 {
				values = append(values, f.of(t)/f.of(o))
			}
		}
	}
	if len(values) == 0 {
		return s, false
	}
	return stats.Of(values), true
}

// A turn is what one client did in one round: a line of a raw file. Its percentiles
// are those of the round.
type turn struct {
	TLS       bool          `json:"tls,omitempty"`
	Callers   int           `json:"callers"`
	Scenario  string        `json:"scenario"`
	Keys      int           `json:"keys"` // of a request
	Client    string        `json:"client"`
	Round     int           `json:"round"`
	Requests  int64         `json:"requests"`
	Took      time.Duration `json:"took"` // nanoseconds, as all durations
	CPU       time.Duration `json:"cpu"`  // of this process, which is the clients'
	Mallocs   uint64        `json:"mallocs"`
	Allocated uint64        `json:"allocated"` // bytes
	Reads     int64         `json:"reads"`     // system calls of this process
	Writes    int64         `json:"writes"`
	Executed  int64         `json:"executed"`          // INCRBY, by the servers' own count
	Servers   time.Duration `json:"servers,omitempty"` // processor time of all servers, by their own account; 0: not asked
	Others    time.Duration `json:"others,omitempty"`  // processor time of processes that are not of the measurement
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	P999      time.Duration `json:"p999"`
}

func (t turn) cell() cell { return cell{t.TLS, t.Callers, t.Scenario, t.Client} }

func (t turn) perRequest(n float64) float64 { return n / float64(t.Requests) }

// A figure is something measured in a turn.
type figure struct {
	name string
	of   func(t turn) float64
}

var (
	rate = figure{"req/s", func(t turn) float64 { return float64(t.Requests) / t.Took.Seconds() }}
	cpu  = figure{"cpu/req", func(t turn) float64 { return t.perRequest(float64(t.CPU)) }}
	p50  = figure{"p50", func(t turn) float64 { return float64(t.P50) }}
	p99  = figure{"p99", func(t turn) float64 { return float64(t.P99) }}
	p999 = figure{"p99.9", func(t turn) float64 { return float64(t.P999) }}

	allocs  = figure{"allocs/req", func(t turn) float64 { return t.perRequest(float64(t.Mallocs)) }}
	reads   = figure{"reads/req", func(t turn) float64 { return t.perRequest(float64(t.Reads)) }}
	writes  = figure{"writes/req", func(t turn) float64 { return t.perRequest(float64(t.Writes)) }}
	serving = figure{"servers/req", func(t turn) float64 { return t.perRequest(float64(t.Servers)) }}
	incrby  = figure{"INCRBY/key", func(t turn) float64 { return t.perRequest(float64(t.Executed)) / float64(t.Keys) }}
)
