package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/pool"
)

// TestMistakes shows for each mistake where it is or which key, and what was expected.
func TestMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"":                                                "is empty",
		"- a":                                             "line 1: cannot unmarshal",
		"callers: 1\n  rate: [":                           "line 2",
		"callers: 1\nround_trp: 1ms":                      "line 2: unknown key round_trp",
		"callers: 1\ncallers: 2":                          `line 2: mapping key "callers" already defined`,
		"callers: -5":                                     "callers -5: want 1 to 100000",
		"callers: many":                                   "line 1: cannot unmarshal !!str `many` into int",
		"duration: 5":                                     `line 1: "5": want a duration with a unit, such as 500ms`,
		"question: a\nwarm_up: -1s":                       `line 2: "-1s": want a duration`,
		"duration: 0":                                     "duration 0s: want 1ms or more",
		"slow_size: 12XB":                                 `line 1: "12XB": want a size with a unit`,
		"slow_share: 2":                                   "slow_share 2: want 0 to 1",
		"rate: .nan":                                      "rate NaN: want 0 to",
		"scenario: mixed_2key":                            "scenario mixed_2key: want one of fixed_key, ",
		"group: nodes":                                    "group nodes: want one of node, slot",
		"primaries: 9":                                    "primaries 9: want 1 to 8",
		"keys: {number: 10, skew: 1}":                     "keys.skew 1: want",
		"keys: {numbr: 10}":                               "line 1: unknown key numbr",
		"keys: {distribution: even}":                      "keys.distribution even: want one of uniform, zipf",
		"callers: 1\npool: {kind: laned, l: 4}":           "line 2: unknown key l",
		"pool: {size: 4}":                                 "want a kind (fixed, adaptive or laned)",
		"pool: {kind: laned, size: 4}":                    "keys of that kind",
		"pool: {kind: laned, strategy: round}":            "pool.strategy round: want one of affinity, ",
		"pool: {kind: adaptive, min: 9, max: 3}":          "Min",
		"pool: fixed":                                     "cannot unmarshal",
		"steps: [{callers: 1}]":                           "duration 0s: want 1ms or more",
		"steps: [{callers: 1, for: 1s}]\nrate: 5":         "rate 5: want no steps with it",
		"hash_tags: true\nscenario: shop":                 "want a scenario of a rate limiter",
		"keys_per_request: 4":                             "keys_per_request 4: want none",
		"keys_per_request: 1\nscenario: mixed":            "keys_per_request 1: want",
		"sla: {within: 1ms, share: 0}":                    "sla.share 0: want",
		"sla: {withn: 1ms}":                               "unknown key withn",
		"vary: {caller: [1]}":                             "line 1: unknown key caller",
		"vary: {callers: 1}":                              "line 1: vary.callers: want a list of values",
		"vary: {callers: [1, x]}":                         "line 1: cannot unmarshal !!str `x`",
		"vary:\n  callers: [1, 0]":                        "callers 0: want 1 to",
		"endpoints:\n- {nam: a}":                          "line 2: unknown key nam",
		"endpoints: [{rounds: 2}]":                        "rounds belong to all endpoints",
		"endpoints: [{name: a}, {name: a}]":               `"a" is the name of two endpoints`,
		"vary: {callers: [1]}\nendpoints: [{callers: 3}]": "callers is varied, and set by an endpoint",
		"vary: {group: [node, node]}":                     `"by node" is the name of two endpoints`,
	} {
		_, err := Parse("f.yaml", []byte(file))
		require.ErrorContains(t, err, want, file)
		require.ErrorContains(t, err, "f.yaml: ", file)
	}
}

func TestDefaults(t *testing.T) {
	f, err := Parse("f.yaml", []byte("question: none"))
	require.NoError(t, err)
	require.Len(t, f.Runs, 1)
	require.Equal(t, "mixed_10keys", f.Runs[0].Name)
	require.Equal(t, 3, f.Runs[0].Rounds)
	require.Len(t, f.Runs[0].Endpoints, 1)
	e := f.Runs[0].Endpoints[0]
	require.Equal(t, "laned-4", e.Name)
	require.Equal(t, []Step{{100, Span{2 * time.Second}}}, e.Load.Phases())
	require.Equal(t, 3*(2*time.Second+300*time.Millisecond), f.Took())
}

// TestVary checks which settings make runs and which make endpoints, and their order.
func TestVary(t *testing.T) {
	f, err := Parse("f.yaml", []byte(`
vary:
  callers: [15, 40]
  pool: [{kind: fixed, size: 10}, {kind: laned, lanes: 2, strategy: affinity}]
  round_trip: [0, 200us, 5ms]
  fan_out: [sequential, async]
`))
	require.NoError(t, err)
	var runs, endpoints []string
	for _, r := range f.Runs {
		runs = append(runs, r.Name)
	}
	for _, e := range f.Runs[4].Endpoints {
		endpoints = append(endpoints, e.Name)
		require.Equal(t, 40, e.Load.Callers)
		require.Equal(t, 200*time.Microsecond, e.Load.RoundTrip.Duration)
	}
	require.Equal(t, []string{
		"callers=15 round_trip=0", "callers=15 round_trip=200µs", "callers=15 round_trip=5ms",
		"callers=40 round_trip=0", "callers=40 round_trip=200µs", "callers=40 round_trip=5ms",
	}, runs)
	require.Equal(t, []string{
		"fixed-10 sequential", "fixed-10 async", "laned-2-affinity sequential", "laned-2-affinity async",
	}, endpoints)
	require.Equal(t, []Value{{"callers", "40"}, {"round_trip", "200µs"}}, f.Runs[4].Varied)
	require.Equal(t, "sequential", f.Runs[4].Endpoints[2].Load.FanOut)
	require.Equal(t, 2, f.Runs[4].Endpoints[2].Load.Pool.Config().(pool.Laned).Lanes)
}

// TestEndpointsOverride checks that an endpoint's settings go before those of
// the top, do not reach its neighbours, and are multiplied by what varies.
func TestEndpointsOverride(t *testing.T) {
	f, err := Parse("f.yaml", []byte(`
callers: 5
pool: {kind: laned, lanes: 8}
endpoints:
  - {name: a, callers: 7, pool: {kind: adaptive, min: 2, max: 8, idle_timeout: 1s}}
  - {name: b, keys: {number: 50, distribution: zipf, skew: 1.5}}
vary:
  group: [node, slot]
`))
	require.NoError(t, err)
	var names, pools []string
	var callers []int
	for _, e := range f.Runs[0].Endpoints {
		names, pools, callers = append(names, e.Name), append(pools, e.Load.Pool.String()), append(callers, e.Load.Callers)
	}
	require.Equal(t, []string{"a by node", "a by slot", "b by node", "b by slot"}, names)
	require.Equal(t, []string{"adaptive-2-8-idle1s", "adaptive-2-8-idle1s", "laned-8", "laned-8"}, pools)
	require.Equal(t, []int{7, 7, 5, 5}, callers)
	require.Equal(t, Keys{50, "zipf", 1.5}, f.Runs[0].Endpoints[3].Load.Keys)
	require.Equal(t, uniform, f.Runs[0].Endpoints[0].Load.Keys.Distribution)
}

// TestForms: some values have a short form.
func TestForms(t *testing.T) {
	load := func(file string) Load {
		f, err := Parse("f.yaml", []byte(file))
		require.NoError(t, err)
		return f.Runs[0].Endpoints[0].Load
	}
	l := load("{sla: {within: 10ms}, bandwidth: 50MB/s, slow_size: 1.5KiB}")
	require.Equal(t, SLA{Span{10 * time.Millisecond}, 0.99}, l.SLA)
	require.EqualValues(t, 50_000_000, l.Bandwidth)
	require.EqualValues(t, 1536, l.SlowSize)
	require.True(t, l.HasNetwork())
	l = load("{sla: {within: 1s, share: 0.999}}")
	require.Equal(t, SLA{Span{time.Second}, 0.999}, l.SLA)
	require.False(t, l.HasNetwork())
}

// TestFilesOfSettings reads every file that comes with the command. Each says what question it
// answers and takes less than five minutes; all take 40, so that scripts/results.sh ends.
func TestFilesOfSettings(t *testing.T) {
	names, err := filepath.Glob("../../settings/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var all time.Duration
	for _, name := range names {
		f, err := Read(name)
		require.NoError(t, err, name)
		require.NotEmpty(t, f.Question, name)
		require.Less(t, f.Took(), 5*time.Minute, name)
		require.True(t, strings.HasPrefix(string(f.Text), "# "), "%s wants a comment about what it is for", name)
		t.Logf("%-24s %v", filepath.Base(name), f.Took())
		for _, r := range f.Runs {
			require.GreaterOrEqual(t, r.Rounds, 3, name)
		}
		all += f.Took()
	}
	require.Less(t, all, 40*time.Minute)
	_, err = Read("no-such-file.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}
