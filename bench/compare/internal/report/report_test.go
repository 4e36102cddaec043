package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/machine"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// turn is one round of so many requests of a millisecond, in a tenth of a second.
func turn(requests int) *load.Result {
	r := load.NewResult()
	r.Callers, r.Requests, r.Took, r.CPU, r.Mallocs = 5, int64(requests), 100*time.Millisecond, time.Second, 1000
	_ = r.Writes.RecordValues(int64(time.Millisecond), int64(requests))
	return r
}

// reportOf is a report of the file with so many requests in each round of each endpoint.
func reportOf(t *testing.T, file string, rounds ...[]int) *Report {
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := New(f)
	run := r.Begin(f.Runs[0])
	for i, requests := range rounds {
		for _, n := range requests {
			run.Endpoints[i].Add([]*load.Result{turn(n)})
		}
	}
	return r
}

const two = `{question: "Which?", vary: {pool: [{kind: fixed, size: 3}, {kind: laned}]}}`

func TestTable(t *testing.T) {
	r := reportOf(t, two, []int{100, 300}, []int{1000})
	r.Runs[0].Endpoints[1].Phases[0].Errors["not sent"] = load.Failure{Count: 7, Example: "a|b"}
	r.Runs[0].Endpoints[1].Phases[0].Use.MaxWaiters = 12
	r.Interrupted = true
	r.Finish()
	var out bytes.Buffer
	r.WriteTable(&out)
	text := out.String()
	require.True(t, strings.HasPrefix(text, "Which?\n\ntest.yaml: "))
	require.Contains(t, text, "| mixed_10keys | fixed-3  |      400 |      0 |     0 % |  2000 | 1ms | 1ms | 1ms | 1ms |   1ms | 1ms |     5ms |        5.0 |           0 |       0.00 |")
	require.Contains(t, text, "| mixed_10keys | laned-4  |     1000 |      7 | 0.695 % | 10000 | ")
	require.Contains(t, text, `| not sent | a\|b `)
	require.Contains(t, text, "|          12 |       0.00 |")
	require.Contains(t, text, "interrupted: ")
	require.NotContains(t, text, "Connections, all nodes")
}

// used is a round of a thousand requests, in which the processors were busy for that share of the time.
func used(busy float64) *load.Result {
	r := turn(1000)
	r.CPU = 20 * time.Millisecond
	r.Machine = load.MachineUse{Busy: time.Duration(busy * float64(time.Second)), All: time.Second}
	r.Servers = load.ServerUse{Known: true, CPU: 30 * time.Millisecond, Busiest: 0.2, Received: 50_000, Sent: 2_000_000}
	_ = r.IdleTrips.RecordValue(int64(2 * time.Millisecond))
	_ = r.LoadedTrips.RecordValue(int64(4 * time.Millisecond))
	return r
}

func TestResources(t *testing.T) {
	r := reportOf(t, two)
	r.Machine.CPUs = 2
	r.Runs[0].Endpoints[0].Add([]*load.Result{used(0.5)})
	r.Runs[0].Endpoints[1].Add([]*load.Result{used(0.95)})
	r.Finish()
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "| mixed_10keys | fixed-3  | round trip |      2ms |        4ms |         50 % |   0.20 |    0.30 |    0.20 |"+
		"           30µs | 50 B |     2 KB |")
	require.Contains(t, out.String(), "| mixed_10keys | laned-4  | processors |")
	require.Contains(t, out.String(), "Other processes used more than 10 % of the processors in 2 of 2 rows: measure again")
	r.Machine.Given = true
	require.Empty(t, r.disturbed(), "the servers may be elsewhere")
}

// TestBounds: what kept a phase from doing more, and that busy processors go before all else.
func TestBounds(t *testing.T) {
	two := Machine{Machine: machine.Machine{CPUs: 2}}
	trips := func(ms int64) load.Histogram {
		h := load.NewResult().Reads
		_ = h.RecordValue(ms * int64(time.Millisecond))
		return h
	}
	phase := func(busy int, busiest float64, waited uint64) *Phase {
		return &Phase{Result: &load.Result{
			Requests: 100, Took: time.Second, IdleTrips: trips(10), LoadedTrips: trips(15), Use: load.Use{Waited: waited},
			Machine: load.MachineUse{Busy: time.Duration(busy) * time.Second, All: 100 * time.Second},
			Servers: load.ServerUse{Known: true, Busiest: busiest},
		}}
	}
	for want, p := range map[string]*Phase{
		byProcessors: phase(95, 1, 100), byServer: phase(20, 0.9, 100), byPool: phase(20, 0, 10), byRoundTrip: phase(20, 0, 9),
	} {
		require.Equal(t, want, p.bound(two))
	}
	open := phase(20, 0, 0)
	open.load.Rate = 1
	require.Equal(t, byRate, open.bound(two))

	// Processors that others keep busy do not count while round trips are short.
	p := phase(95, 0, 100)
	p.LoadedTrips = trips(14)
	require.Equal(t, byPool, p.bound(two))
	p.Use.Waited = 50
	require.Equal(t, byOthers, p.bound(two))
	p.CPU = 2 * time.Second // of the client itself
	require.Equal(t, byPool, p.bound(two))
	p.LoadedTrips = load.Histogram{} // it is not known whether they are
	require.Equal(t, byProcessors, p.bound(two))
}

// TestWhatWasNotMeasuredIsLeftOut: the second endpoint's turn never came.
func TestWhatWasNotMeasuredIsLeftOut(t *testing.T) {
	r := reportOf(t, two, []int{100})
	r.Finish()
	require.Len(t, r.Runs[0].Endpoints, 1)
	empty := reportOf(t, two)
	empty.Finish()
	require.Empty(t, empty.Runs)
	var out bytes.Buffer
	empty.WriteTable(&out)
	require.NotContains(t, out.String(), "|")
}
