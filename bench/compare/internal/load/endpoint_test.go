package load

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/internal/keys"
	"github.com/redislanes/redislanes/bench/internal/usage"
)

// open returns an endpoint over an emulated cluster.
func open(t *testing.T, e *redistest.Emulated, file string) *Endpoint {
	t.Helper()
	t.Setenv("REDIS_ADDRS", strings.Join(e.Addrs(), ","))
	targets := NewTargets(t.Output())
	t.Cleanup(func() { require.NoError(t, targets.Close()) })
	endpoint, err := targets.Open(t.Context(), loadOf(t, file))
	require.NoError(t, err)
	t.Cleanup(func() { _ = endpoint.Close() })
	return endpoint
}

// TestScenariosCountRequests compares what was measured with what the servers have executed: all
// requests of a rate limiter have so many INCRBY and as many EXPIRE; of another, one of the commands.
func TestScenariosCountRequests(t *testing.T) {
	for scenario, commands := range map[string]map[string]int{ // of one request, and settings after the scenario
		"fixed_key":    {"INCRBY": 1, "EXPIRE": 1},
		"mixed_10keys": {"INCRBY": 10, "EXPIRE": 10},
		"head_of_line": {"GET": 1, "HGETALL": 1},

		"mixed, keys_per_request: 4":                     {"INCRBY": 4, "EXPIRE": 4},
		"mixed_10keys, fan_out: goroutines, group: node": {"INCRBY": 10, "EXPIRE": 10},
		"mixed_10keys, fan_out: goroutines, group: slot": {"INCRBY": 10, "EXPIRE": 10},
		"read_write": {"GET": 1, "SET": 1},
		"shop":       {"GET": 1, "SET": 1, "MGET": 1, "HGETALL": 1},
	} {
		t.Run(scenario, func(t *testing.T) {
			e := redistest.StartEmulated(t, 3)
			endpoint := open(t, e, fmt.Sprintf("{scenario: %s, callers: 4, duration: 200ms, keys: 100, slow_size: 10KB}", scenario))
			before := make(map[string]int)
			for c := range commands {
				before[c] = calls(e, c)
			}
			results := endpoint.Measure(t.Context())
			require.Len(t, results, 1)
			r := results[0]
			require.Empty(t, r.Errors)
			require.Positive(t, r.Requests)
			require.Equal(t, r.Requests, r.Fast().Count()+r.Slow.Count())
			require.False(t, r.Partial)
			requests := 0
			for c, n := range commands {
				executed := calls(e, c) - before[c]
				require.Zero(t, executed%n, c)
				if commands["INCRBY"] > 0 {
					require.EqualValues(t, r.Requests, executed/n, c)
				}
				if c == "SET" {
					require.EqualValues(t, r.Writes.Count(), executed/n)
				}
				requests += executed / n
			}
			if commands["INCRBY"] == 0 {
				require.EqualValues(t, r.Requests, requests)
			}
		})
	}
}

func calls(e *redistest.Emulated, command string) (n int) {
	for i := range e.Nodes() {
		n += e.Calls(i, command)
	}
	return n
}

// TestErrorsAreNoThroughput lets the servers refuse every second INCRBY.
func TestErrorsAreNoThroughput(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	endpoint := open(t, e, "{scenario: fixed_key, callers: 1, duration: 200ms}")
	n := 0
	e.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			if n++; n%2 == 0 {
				return "ERR injected"
			}
		}
		return ""
	})
	r := endpoint.Measure(t.Context())[0]
	e.Inject(0, nil)
	require.Positive(t, r.Requests)
	require.Len(t, r.Errors, 1)
	require.InDelta(t, r.Requests, r.Errors["error reply"].Count, 1)
	require.Contains(t, r.Errors["error reply"].Example, "ERR …")
	require.Equal(t, r.Requests, r.Fast().TotalCount())
}

// TestKindsOfErrors says in a word what went wrong.
func TestKindsOfErrors(t *testing.T) {
	for want, err := range map[string]error{
		"deadline":         &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: context.DeadlineExceeded},
		"exhausted":        cause.Exhausted("1 connections in use"),
		"server down":      &cause.Down{},
		"outcome unknown":  &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: cause.ErrStalled},
		"not sent":         wire.ErrClosed,
		"unexpected reply": fmt.Errorf("%w: total 0", keys.ErrUnexpected),
		"other":            fmt.Errorf("strange"),
	} {
		require.Equal(t, want, kindOf(err))
	}
}

// TestOpenLoopCountsWhatNeverBegan holds up all replies until the end: both
// callers wait for theirs, and nobody is free for the other requests. No arrival of the schedule is lost.
func TestOpenLoopCountsWhatNeverBegan(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	proxies := redistest.StartProxies(t, e.Addrs())
	l := loadOf(t, "{scenario: fixed_key, callers: 2, duration: 1s, rate: 100, timeout: 1100ms}")
	client, err := cluster.Config{AddrMap: proxies.AddrMap}.New(t.Context(), e.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	endpoint := &Endpoint{load: l, client: client}
	for i := range l.Callers {
		endpoint.callers = append(endpoint.callers, newCaller(client, l, newKeySet(l), i))
	}
	proxy := proxies[e.Addrs()[0]]
	proxy.Stall(redistest.ToClient)
	r := endpoint.Measure(t.Context())[0]
	proxy.Flow(redistest.ToClient)
	require.Zero(t, r.Requests)
	require.EqualValues(t, 2, r.Errors["server down"].Count)
	require.EqualValues(t, 98, r.Errors[overload].Count)
}

// TestSteps measures each step by itself, with its own number of callers.
func TestSteps(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	endpoint := open(t, e, `
scenario: variable_key
steps: [{callers: 2, for: 200ms}, {callers: 20, for: 200ms}]
pool: {kind: adaptive, min: 1, max: 20}
`)
	require.NoError(t, endpoint.WarmUp(t.Context()))
	results := endpoint.Measure(t.Context())
	require.Len(t, results, 2)
	require.Equal(t, 2, results[0].Callers)
	require.Equal(t, 20, results[1].Callers)
	for _, r := range results {
		require.Empty(t, r.Errors)
		require.Positive(t, r.Requests)
		require.NotEmpty(t, r.Use.Samples)
		require.Positive(t, r.Use.Samples[0].Open)
	}
	require.Greater(t, results[1].Use.Samples[0].At, results[0].Use.Samples[0].At)
}

func TestAddingRounds(t *testing.T) {
	sum, a, b := NewResult(), NewResult(), NewResult()
	for i, r := range []*Result{a, b} {
		tally := &tally{to: &recorder{result: r}}
		for range 300 { // more than a tally holds
			tally.add(class(i), time.Duration(i+1)*time.Millisecond)
		}
		tally.add(slowOnes, time.Second)
		tally.add(reads, 10*time.Hour) // counts as the longest
		tally.fail(keys.ErrUnexpected)
		tally.flush()
		r.Took = time.Second
		sum.Add(r)
	}
	require.EqualValues(t, 604, sum.Requests)
	require.InDelta(t, 302, sum.Rate(), 1e-9)
	require.EqualValues(t, 602, sum.Fast().TotalCount())
	require.EqualValues(t, 2, sum.Slow.TotalCount())
	require.EqualValues(t, 604, sum.All().TotalCount())
	require.EqualValues(t, 302, sum.Reads.TotalCount(), "All leaves its parts alone")
	require.EqualValues(t, 300, sum.Writes.TotalCount())
	require.EqualValues(t, 300, sum.Within(time.Millisecond))
	require.EqualValues(t, 600, sum.Within(999*time.Millisecond))
	require.EqualValues(t, 602, sum.Within(time.Second))
	require.EqualValues(t, 2, sum.Failed())
	require.InEpsilon(t, longest, sum.Fast().Max(), 0.001)
}

func TestServerUse(t *testing.T) {
	before := []usage.Server{{CPU: time.Second, Received: 100, Sent: 10}, {CPU: 2 * time.Second, Received: 200, Sent: 20}}
	after := []usage.Server{{CPU: 2 * time.Second, Received: 150, Sent: 30}, {CPU: 5 * time.Second, Received: 300, Sent: 20}}
	require.Equal(t, ServerUse{true, 4 * time.Second, 0.75, 150, 20}, serverUse(before, after, 4*time.Second))
	require.Zero(t, serverUse(after, before, time.Second), "a server was started anew")
	require.Zero(t, serverUse(nil, after, time.Second))
}

// TestUsage measures real servers over a network: what they, the network and this process used
// is known, and a request takes at least a round trip of the network. It is before a cluster of
// one node, too.
func TestUsage(t *testing.T) {
	servers.RequireServer(t)
	t.Setenv("REDIS_ADDRS", "")
	targets := NewTargets(t.Output())
	t.Cleanup(func() { require.NoError(t, targets.Close()) })
	for primaries, scenario := range map[int]string{1: "fixed_key", 3: "mixed_10keys"} {
		e, err := targets.Open(t.Context(), loadOf(t, fmt.Sprintf(
			"{scenario: %s, primaries: %d, callers: 4, duration: 300ms, round_trip: 4ms, bandwidth: 50MB/s}", scenario, primaries)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = e.Close() })
		r := e.Measure(t.Context())[0]
		require.Empty(t, r.Errors)
		require.Positive(t, r.Requests)
		for _, trips := range []Histogram{r.IdleTrips, r.LoadedTrips, r.Fast()} {
			require.GreaterOrEqual(t, time.Duration(trips.Min()), 4*time.Millisecond)
		}
		require.True(t, r.Servers.Known)
		require.Positive(t, r.Servers.CPU)
		require.Positive(t, r.Servers.Busiest)
		const leastSent, leastReceived = 60, 8 // bytes of INCRBY and EXPIRE, and of their replies
		require.GreaterOrEqual(t, r.PerRequest(float64(r.Servers.Received)), float64(leastSent))
		require.GreaterOrEqual(t, r.PerRequest(float64(r.Servers.Sent)), float64(leastReceived))
		if runtime.GOOS == "linux" {
			require.Positive(t, r.Machine.All)
			require.Positive(t, r.Machine.Busy)
			require.LessOrEqual(t, r.Machine.Busy, r.Machine.All)
			require.Positive(t, r.Machine.Network)
		}
	}
}

// TestUnknownUse: servers that say nothing of themselves are no error, nor is a
// node that does not answer pings.
func TestUnknownUse(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	endpoint := open(t, e, "{scenario: fixed_key, callers: 1, duration: 20ms}")
	endpoint.probed = "127.0.0.1:1"
	r := endpoint.Measure(t.Context())[0]
	require.Empty(t, r.Errors)
	require.False(t, r.Servers.Known)
	require.Zero(t, r.IdleTrips.TotalCount()+r.LoadedTrips.TotalCount())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Nil(t, endpoint.serverCounts(ctx))
}

func TestMain(m *testing.M) {
	child.Main()
	servers.VerifyNoLeaks(m)
}
