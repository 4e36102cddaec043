package limitmetrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limitmetrics"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestObserver: each decision is counted once, under its limit and outcome, and no
// key is in any label.
func TestObserver(t *testing.T) {
	t.Parallel()
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	defer client.Close()
	o := limitmetrics.New()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"service": "s"}, registry).Register(o))
	l, err := limit.Config{Observer: o, Budget: 10 * time.Second, NearCache: -1}.New(client)
	require.NoError(t, err)
	defer l.Close()
	two, err := limit.Rule{Name: "two", Quota: 2, Window: time.Hour, Warn: 0.9}.New(l)
	require.NoError(t, err)
	shadow, err := limit.Rule{Name: "dark", Quota: 1, Window: time.Hour, Shadow: true}.New(l)
	require.NoError(t, err)
	for range 3 {
		l.Allow(t.Context(), limit.Request{Limit: two, Key: "canary"}, limit.Request{Limit: shadow, Key: "canary"})
	}
	l.Allow(t.Context(), limit.Request{Key: "canary"})
	l.Allow(t.Context(), limit.Request{Key: "canary", Rule: limit.Rule{Name: "canary !"}})
	l.Allow(t.Context(), limit.Request{Key: "canary", Rule: limit.Rule{Name: "plan", Quota: 5, Window: time.Hour}})
	l.Allow(t.Context(), limit.Request{Limit: two, Key: "other", Look: true})
	for _, what := range []string{"counted", "returned", "lost", "leased"} {
		o.Hits(shadow, what, 10)
	}
	one, err := places.Config{Name: "held", Max: 1, Observer: o, Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	for range 2 {
		one.Acquire(t.Context(), "canary")
	}
	require.NoError(t, one.Close())
	families, err := registry.Gather()
	require.NoError(t, err)
	got := make(map[string]float64)
	for _, f := range families {
		require.NotContains(t, f.String(), "canary")
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			if n := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()); n > 0 {
				got[name] = n
			}
		}
	}
	require.Equal(t, map[string]float64{
		"redislanes_limit_decisions_total  mistaken s false":    2,
		"redislanes_limit_decisions_total plan allowed s false": 1,
		"redislanes_limit_hits_total counted plan s":            1,
		"redislanes_limit_decisions_total two allowed s false":  2,
		"redislanes_limit_decisions_total two denied s false":   1,
		"redislanes_limit_decisions_total dark allowed s true":  1,
		"redislanes_limit_decisions_total dark denied s true":   2,
		"redislanes_limit_warned_total two s":                   2,
		"redislanes_limit_hits_total counted two s":             2,
		"redislanes_limit_hits_total counted dark s":            11,
		"redislanes_limit_hits_total returned dark s":           10,
		"redislanes_limit_hits_total lost dark s":               10,
		"redislanes_limit_hits_total leased dark s":             10,
		"redislanes_limit_decisions_total held allowed s false": 1,
		"redislanes_limit_decisions_total held denied s false":  1,
		"redislanes_limit_hits_total counted held s":            1,
		"redislanes_limit_hits_total returned held s":           1,
		"redislanes_limit_duration_seconds true s":              5,
		"redislanes_limit_duration_seconds false s":             4,
	}, got)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestDecidedDoesNotAllocate gates the hot path, for a limit and for a rule that comes with the call.
func TestDecidedDoesNotAllocate(t *testing.T) {
	o := limitmetrics.New()
	rule := limit.Rule{Name: "user", Quota: 100, Window: time.Minute}
	made, err := rule.New(new(limit.Limiter))
	require.NoError(t, err)
	for _, request := range []limit.Request{{Limit: made, Key: "k"}, {Rule: rule, Key: "k"}} {
		requests, result := []limit.Request{request}, limit.Result{Decision: limit.Decision{Allowed: true, Leased: true}}
		require.Zero(t, testing.AllocsPerRun(1000, func() { o.Decided(time.Millisecond, requests, result) }))
	}
	require.NoError(t, testutil.CollectAndCompare(o, strings.NewReader(`# HELP redislanes_limit_warned_total Decisions about requests with so much of the limit used that its rule warns, by rule.
# TYPE redislanes_limit_warned_total counter
redislanes_limit_warned_total{limit="user"} 0
`), "redislanes_limit_warned_total"))
}

// TestZeroObserver: registering fails.
func TestZeroObserver(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, prometheus.NewRegistry().Register(new(limitmetrics.Observer)), "make it with limitmetrics.New")
}
