package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// reportOf is a report of the file with so many requests in each round of each
// endpoint.
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
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| mixed_10keys | fixed-3") {
			require.Equal(t, 17, strings.Count(line, "|"))
			break // the table of resources has other columns
		}
	}
}

// used is a round of a thousand requests on a machine whose processors were busy
// for that share.
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
	require.Contains(t, out.String(), "- The processors of this machine were the limit, not the pool: its size says little there, "+
		"and a larger machine would give other figures: mixed_10keys laned-4.\n")
	require.Contains(t, out.String(), "- Other processes used more than 10 % of the processors: measure again when the machine is quiet: all rows.\n")
	others := r.Runs[0].Endpoints[1].Phases[0].Resources.Others
	require.InDelta(t, 0.95*2-0.2-0.3, *others, 1e-9)
}

// TestBounds: what kept a phase from doing more, and that busy processors go before
// all else.
func TestBounds(t *testing.T) {
	busy, idle := 0.95, 0.2
	phase := func(waited uint64, r Resources) *Phase {
		return &Phase{Result: &load.Result{Requests: 100, Use: load.Use{Waited: waited}}, Resources: r}
	}
	for want, p := range map[string]*Phase{
		byProcessors: phase(100, Resources{Machine: &busy, Servers: &ServerUse{Busiest: 1}}),
		byServer:     phase(100, Resources{Machine: &idle, Servers: &ServerUse{Busiest: 0.9}}),
		byPool:       phase(10, Resources{Machine: &idle}),
		byRoundTrip:  phase(9, Resources{}),
	} {
		require.Equal(t, want, p.bound(false, 2))
	}
	require.Equal(t, byRate, phase(0, Resources{}).bound(true, 2))

	// Processors that others keep busy do not count while round trips are short.
	trips := func(ms int64) load.Histogram {
		h := load.NewResult().Reads
		_ = h.RecordValue(ms * int64(time.Millisecond))
		return h
	}
	p := phase(100, Resources{Machine: &busy, IdleTrip: trips(10), LoadedTrip: trips(14)})
	require.Equal(t, byPool, p.bound(false, 2))
	others := 1.0
	p.Resources.Others = &others
	require.Equal(t, byPool, p.bound(false, 2))
	p.Use.Waited = 50
	require.Equal(t, byOthers, p.bound(false, 2))
	p.Resources.LoadedTrip = trips(15)
	require.Equal(t, byProcessors, p.bound(false, 2))
}

// TestMostlyFailed: an endpoint whose requests fail has no latencies to be judged
// by.
func TestMostlyFailed(t *testing.T) {
	r := reportOf(t, two, []int{14}, []int{1000})
	r.Runs[0].Endpoints[0].Phases[0].Errors["deadline"] = load.Failure{Count: 86, Example: "late"}
	r.Finish()
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "|       14 |     86 |   86 % |")
	require.Contains(t, out.String(), "- More than 1 % of the requests failed. The latencies are those of the others, and no measure of how it did: mixed_10keys fixed-3.\n")
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

func TestFastAndSlowApart(t *testing.T) {
	r := reportOf(t, two)
	mixed := turn(100)
	_ = mixed.Slow.RecordValues(int64(time.Second), 10)
	mixed.Requests += 10
	r.Runs[0].Endpoints[0].Add([]*load.Result{mixed})
	r.Finish()
	p := r.Runs[0].Endpoints[0].Phases[0]
	require.EqualValues(t, 110, p.Latency.Count())
	require.EqualValues(t, 100, p.Fast().Count())
	require.EqualValues(t, 10, p.Slow.Count())
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "| fixed-3, fast |      100 |")
	require.Contains(t, out.String(), "| fixed-3, slow |       10 |")
}
