package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/pool"
)

// TestMistakes shows for each mistake where it is, which key, and what was
// expected.
func TestMistakes(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"empty", "", "f.yaml:1:1: is empty: want a mapping"},
		{"not a mapping", "- a", `f.yaml:1:1: a list: want a mapping of settings`},
		{"syntax", "callers: 1\n  rate: [", "f.yaml:2:1: not YAML: "},
		{"unknown key", "callers: 1\nround_trp: 1ms", `f.yaml:2:1: round_trp: unknown key, did you mean "round_trip"?; known are `},
		{"nothing near", "xyzzy: 1", "f.yaml:1:1: xyzzy: unknown key; known are question, "},
		{"twice", "callers: 1\ncallers: 2", "f.yaml:2:1: callers: is here twice"},
		{"negative", "callers: -5", `f.yaml:1:10: callers: "-5": want a whole number from 1 to 100000`},
		{"text for a number", "callers: many", `f.yaml:1:10: callers: "many": want a whole number`},
		{"quoted number", `callers: "5"`, `f.yaml:1:10: callers: "5": want a whole number`},
		{"list for a number", "callers: [1]", `f.yaml:1:10: callers: a list: want a whole number`},
		{"duration without unit", "duration: 5", `f.yaml:1:11: duration: "5": want a duration with a unit, such as 500ms`},
		{"negative duration", "warm_up: -1s", `f.yaml:1:10: warm_up: "-1s": want a duration`},
		{"no duration", "duration: 0", `f.yaml:1:11: duration: "0": want a duration with a unit, such as 500ms or 2s, from 1ms to 1h`},
		{"bad bandwidth", "bandwidth: 50", `f.yaml:1:12: bandwidth: "50": want 0 or bytes a second, such as 50MB/s`},
		{"bad size", "slow_size: 12XB", `f.yaml:1:12: slow_size: "12XB": want a size with a unit`},
		{"share", "slow_share: 2", `f.yaml:1:13: slow_share: "2": want a number from 0 to 1`},
		{"not a number", "rate: .nan", `f.yaml:1:7: rate: ".nan": want a number`},
		{"bool", "hash_tags: 1", `f.yaml:1:12: hash_tags: "1": want true or false`},
		{"scenario", "scenario: mixed_2key", `f.yaml:1:11: scenario: "mixed_2key": want one of fixed_key, `},
		{"suggested scenario", "scenario: mixed_2key", `did you mean "mixed_2keys"?`},
		{"group", "group: nodes", `did you mean "node"?`},
		{"primaries", "primaries: 9", `f.yaml:1:12: primaries: "9": want a whole number from 1 to 8`},
		{"seed", "seed: -1", `f.yaml:1:7: seed: "-1": want a whole number, 0 or more`},
		{"keys", "keys: {number: 10, skew: 1}", `f.yaml:1:26: keys.skew: "1": want a number above 1 to 10`},
		{"skew of uniform", "keys: {number: 10, skew: 2}", "f.yaml:1:1: keys: skew belongs to distribution: zipf"},
		{"pool kind", "pool: {kind: laned, lane: 4}", `f.yaml:1:21: pool.lane: unknown key, did you mean "lanes"?`},
		{"no pool kind", "pool: {size: 4}", "f.yaml:1:7: pool.kind: is missing: want one of fixed, adaptive, laned"},
		{"other kind's key", "pool: {kind: laned, size: 4}", "f.yaml:1:21: pool.size: a pool of kind laned does not have it; it belongs to fixed"},
		{"strategy", "pool: {kind: laned, strategy: round}", `f.yaml:1:31: pool.strategy: "round": want one of first_fit, round_robin, `},
		{"min above max", "pool: {kind: adaptive, min: 9, max: 3}", "f.yaml:1:7: pool: "},
		{"pool is text", "pool: fixed", `f.yaml:1:7: pool: "fixed": want a mapping such as`},
		{"steps", "steps: [{callers: 1}]", "f.yaml:1:9: steps[0]: want both callers and for"},
		{"steps and callers", "callers: 5\nsteps: [{callers: 1, for: 1s}]", "f.yaml:2:1: callers: the steps say it already"},
		{"steps and rate", "steps: [{callers: 1, for: 1s}]\nrate: 5", "f.yaml:2:1: rate: steps are of a closed loop"},
		{"hash tags", "hash_tags: true\nscenario: shop", "f.yaml:2:1: hash_tags: the scenario shop has none"},
		{"keys per request", "keys_per_request: 4", "f.yaml:1:1: keys_per_request: the scenario mixed_10keys has its own number: choose one of mixed, "},
		{"one key per request", "keys_per_request: 1\nscenario: mixed", "f.yaml:2:1: keys_per_request: the scenario mixed has at least 2"},
		{"cool-down", "cool_down: 1", `f.yaml:1:12: cool_down: "1": want a duration with a unit`},
		{"sla share", "sla: {within: 1ms, share: 0}", `f.yaml:1:27: sla.share: "0": want a number above 0 to 1`},
		{"sla without a time", "sla: {share: 0.9}", "f.yaml:1:6: sla.within: is missing"},
		{"sla unknown", "sla: {withn: 1ms}", `did you mean "within"?`},
		{"hiccups", "hiccups: 1s", `f.yaml:1:10: hiccups: "1s": want 0, or a mapping such as {every: 1s, for: 50ms}`},
		{"half of hiccups", "hiccups: {for: 5ms}", "f.yaml:1:10: hiccups: want both every and for"},
		{"no hiccup", "hiccups: {every: 1s, for: 0}", `hiccups.for: "0": want a duration`},
		{"vary unknown", "vary: {caller: [1]}", `f.yaml:1:8: vary.caller: unknown key, did you mean "callers"?`},
		{"vary no list", "vary: {callers: 1}", `f.yaml:1:17: vary.callers: "1": want a list of values`},
		{"vary value", "vary: {callers: [1, x]}", `f.yaml:1:21: vary.callers[1]: "x": want a whole number`},
		{"endpoint key", "endpoints: [{nam: a}]", `f.yaml:1:14: endpoints[0].nam: unknown key, did you mean "name"?`},
		{"rounds of an endpoint", "endpoints: [{rounds: 2}]", "f.yaml:1:14: endpoints[0].rounds: belongs to all endpoints"},
		{"same name", "endpoints:\n- name: a\n- name: a", `f.yaml:3:3: name: "a" is the name of two endpoints`},
		{"varied and set", "vary: {callers: [1, 2]}\nendpoints: [{callers: 3}]", "f.yaml:2:14: endpoints[0].callers: is varied in line 1 as well"},
		{"same value varied", "vary: {group: [node, node]}", `f.yaml:1:8: name: "by node" is the name of two endpoints`},
		{"addrs", "addrs: [localhost]", `f.yaml:1:9: addrs[0]: "localhost": want host:port`},
		{"addrs and primaries", "addrs: ['127.0.0.1:7000']\nprimaries: 3", "f.yaml:2:1: primaries: the cluster of addrs has as many as it has"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(test.file))
			require.ErrorContains(t, err, test.want)
			var mistake *Error
			require.ErrorAs(t, err, &mistake)
		})
	}
}

func TestAllMistakesAreReportedInOrder(t *testing.T) {
	_, err := Parse("f.yaml", []byte("callers: -1\nbogus: 1\nduration: x\n"))
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, line[:len("f.yaml:1")])
	}
	require.Equal(t, []string{"f.yaml:1", "f.yaml:2", "f.yaml:3"}, lines)
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
	require.Equal(t, []Step{{100, 2 * time.Second}}, e.Load.Phases())
	require.Equal(t, 3*(2*time.Second+300*time.Millisecond), f.Took())
}

// TestVary checks which settings make runs and which make endpoints, and their
// order.
func TestVary(t *testing.T) {
	f, err := Parse("f.yaml", []byte(`
vary:
  callers: [15, 40]
  pool: [{kind: fixed, size: 10}, {kind: laned, lanes: 2, strategy: affinity}]
  round_trip: [0, 1ms, 5ms]
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
		require.Equal(t, time.Millisecond, e.Load.RoundTrip)
	}
	require.Equal(t, []string{
		"callers=15 round_trip=0", "callers=15 round_trip=1ms", "callers=15 round_trip=5ms",
		"callers=40 round_trip=0", "callers=40 round_trip=1ms", "callers=40 round_trip=5ms",
	}, runs)
	require.Equal(t, []string{
		"fixed-10 sequential", "fixed-10 async", "laned-2-affinity sequential", "laned-2-affinity async",
	}, endpoints)
	require.Equal(t, []Value{{"callers", 40}, {"round_trip", "1ms"}}, f.Runs[4].Varied)
	require.Equal(t, "sequential", f.Runs[4].Endpoints[2].Load.FanOut)
	require.Equal(t, 2, f.Runs[4].Endpoints[2].Load.Pool.Config().(pool.Laned).Lanes)
}

// TestEndpointsOverride checks that an endpoint's settings go before those of
// the top, do not reach its neighbours, and are multiplied by what varies.
func TestEndpointsOverride(t *testing.T) {
	f, err := Parse("f.yaml", []byte(`
callers: 5
endpoints:
  - {name: a, callers: 7, pool: &p {kind: adaptive, min: 2, max: 8, idle_timeout: 1s}}
  - {name: b, pool: *p, keys: {number: 50, distribution: zipf, skew: 1.5}}
vary:
  group: [node, slot]
`))
	require.NoError(t, err)
	var names []string
	var callers []int
	for _, e := range f.Runs[0].Endpoints {
		names = append(names, e.Name)
		callers = append(callers, e.Load.Callers)
		require.Equal(t, "adaptive-2-8-idle1s", e.Load.Pool.String())
	}
	require.Equal(t, []string{"a by node", "a by slot", "b by node", "b by slot"}, names)
	require.Equal(t, []int{7, 7, 5, 5}, callers)
	require.Equal(t, Keys{50, "zipf", 1.5}, f.Runs[0].Endpoints[3].Load.Keys)
	require.Equal(t, uniform, f.Runs[0].Endpoints[0].Load.Keys.Distribution)
}

func TestNetworks(t *testing.T) {
	for file, want := range map[string]bool{
		"{}": false, "hiccups: 0": false, "jitter: 1ms": true, "hiccups: {every: 1s, for: 5ms}": true, "bandwidth: 1MB/s": true,
	} {
		f, err := Parse("f.yaml", []byte(file))
		require.NoError(t, err)
		l := f.Runs[0].Endpoints[0].Load
		require.Equal(t, want, l.HasNetwork(), file)
		if l.Hiccups.For > 0 {
			require.Contains(t, l.Values(), Value{"hiccups", "5ms every 1s"})
		}
	}
}

func TestSLA(t *testing.T) {
	for file, want := range map[string]string{
		"{}": "0", "sla: 10ms": "99% within 10ms", "sla: {within: 1s, share: 0.999}": "99.9% within 1s",
	} {
		f, err := Parse("f.yaml", []byte(file))
		require.NoError(t, err)
		require.Contains(t, f.Runs[0].Endpoints[0].Load.Values(), Value{"sla", want}, file)
	}
}

// TestRequestKeys: the number of keys is the file's where the scenario has none.
func TestRequestKeys(t *testing.T) {
	for file, want := range map[string]int{
		"scenario: mixed": 2, "{scenario: mixed, keys_per_request: 4}": 4, "{scenario: read_write, keys_per_request: 3}": 3,
		"scenario: variable_key": 1, "scenario: mixed_10keys": 0,
	} {
		f, err := Parse("f.yaml", []byte(file))
		require.NoError(t, err)
		require.Equal(t, want, f.Runs[0].Endpoints[0].Load.RequestKeys(), file)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "100B": 100, "500KB": 500_000, "1.5KiB": 1536, "50 MB": 50_000_000, "1GB": 1e9} {
		got, ok := ParseBytes(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "KB", "-1KB", "1TB", "9GB", "NaNB"} {
		_, ok := ParseBytes(text)
		require.False(t, ok, text)
	}
	for bytes, want := range map[int]string{0: "0", 1500: "1.5KB/s", 50_000_000: "50MB/s", 2e9: "2000MB/s"} {
		require.Equal(t, want, showBandwidth(bytes))
		back, ok := ParseBandwidth(want)
		require.True(t, ok)
		require.Equal(t, bytes, back)
	}
}

// TestFilesOfSettings reads every file that comes with the command: none may take
// longer than five minutes, and each says what question it answers.
func TestFilesOfSettings(t *testing.T) {
	names, err := filepath.Glob("../../settings/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := Read(name)
			require.NoError(t, err)
			require.NotEmpty(t, f.Question)
			require.Less(t, f.Took(), 5*time.Minute)
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(text), "# "), "wants a comment about what it is for")
		})
	}
}

func TestMissingFile(t *testing.T) {
	_, err := Read("no-such-file.yaml")
	require.True(t, errors.Is(err, os.ErrNotExist))
}

// FuzzParse: whatever a file holds, it is read or refused with a place.
func FuzzParse(f *testing.F) {
	f.Add("callers: 5\nvary: {pool: [{kind: fixed}], round_trip: [0, 1ms]}")
	f.Add("endpoints: [{name: a, keys: {number: 1}}, *x]")
	f.Add("a: &a [*a]")
	f.Add("? [a]\n: b")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("f.yaml", []byte(text))
		var mistake *Error
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("%v has no place", err)
		}
	})
}
