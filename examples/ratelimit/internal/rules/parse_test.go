package rules

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
)

func TestMain(m *testing.M) { leak.Main(m) }

// limitOf makes limits as a limiter with a client does.
func limitOf(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) }

func parsed(t *testing.T, text string) *Set {
	t.Helper()
	set, err := Parse(limitOf, Source{"rules.yaml", []byte(text)})
	require.NoError(t, err)
	return set
}

// entries reads key=value,key=value.
func entries(text string) (all []Entry) {
	for e := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(e, "=")
		all = append(all, Entry{key, value})
	}
	return all
}

const full = `--- # templates write such markers around a document
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: second, requests_per_unit: 5}
  - key: user
    value: root
    rate_limit:
      unlimited: true
      name: root
  - key: plan
    value: free
    descriptors:
      - key: user
        rate_limit:
          unit: DAY
          requests_per_unit: 1000
          algorithm: sliding_window
          replaces: [{name: root}, {name: other}]
        shadow_mode: true
        detailed_metric: true
  - key: plan
    rate_limit:
      unit: month
      requests_per_unit: 9
  - key: path
    value: /a*
    rate_limit: {unit: hour, requests_per_unit: 3}
  - key: path
    value: /a/b*
    rate_limit: &bucket
      unit: minute
      requests_per_unit: 4
      algorithm: token_bucket
      burst: 2
      fail_closed: yes
  - key: path
    value: /c
    rate_limit: *bucket
  - key: path
    value: "*"
    rate_limit: {unit: week, requests_per_unit: 0}
  - key: 7
    value: 8
    rate_limit: {unit: year, requests_per_unit: 4294967295}
  - key: nothing
  - key: empty
    value:
    rate_limit:
    descriptors:
---
`

func TestMatch(t *testing.T) {
	t.Parallel()
	set := parsed(t, full)
	require.Equal(t, 9, set.Rules())
	require.Equal(t, 1, set.Domains())
	bucket := limit.Rule{Quota: 4, Window: time.Minute, Algorithm: limit.TokenBucket, Burst: 2, FailClosed: true}
	for _, c := range []struct {
		entries string
		key     string // "" for no rule
		want    limit.Rule
	}{
		{"user=42", "2:42", limit.Rule{Name: "shop.user", Quota: 5, Window: time.Second}},
		{"user=", "0:", limit.Rule{Name: "shop.user", Quota: 5, Window: time.Second}},
		{"plan=free,user=42", "2:42", limit.Rule{Quota: 1000, Window: 24 * time.Hour, Algorithm: limit.SlidingWindow, Shadow: true}},
		{"plan=paid", "4:paid", limit.Rule{Name: "shop.plan", Quota: 9, Window: 30 * 24 * time.Hour}},
		{"path=/ab", "3:/ab", limit.Rule{Quota: 3, Window: time.Hour}},
		{"path=/a", "2:/a", limit.Rule{Quota: 3, Window: time.Hour}},
		{"path=/a/bc", "5:/a/bc", bucket},
		{"path=/c", "-", bucket},
		{"path=/z", "2:/z", limit.Rule{Window: 7 * 24 * time.Hour}},
		{"7=8", "-", limit.Rule{Quota: 4294967295, Window: 365 * 24 * time.Hour}},
		{"plan=free", "", limit.Rule{}},           // no rule there
		{"plan=paid,user=42", "", limit.Rule{}},   // it goes on below the rule
		{"plan=free,tenant=1", "", limit.Rule{}},  // not below
		{"user=42,plan=free", "", limit.Rule{}},   // in this order
		{"7=9", "", limit.Rule{}},                 // another value
		{"nothing=1", "", limit.Rule{}},           // no limit
		{"User=42", "", limit.Rule{}},             // another key
		{"plan=free,user=1,x=", "", limit.Rule{}}, // further than the rules
	} {
		rule, key := set.Match("shop", entries(c.entries))
		if c.key == "" {
			require.Nil(t, rule, c.entries)
			continue
		}
		require.NotNil(t, rule, c.entries)
		require.Equal(t, strings.TrimPrefix(c.key, "-"), key, c.entries)
		got := rule.Limit.Rule()
		if c.want.Name == "" { // with a hash
			require.Regexp(t, `^shop\..*-[0-9a-f]{12}$`, got.Name)
			c.want.Name = got.Name
		}
		require.Equal(t, c.want, got, c.entries)
	}
	rule, _ := set.Match("shop", entries("user=root"))
	require.Equal(t, &Rule{Name: "root", Unlimited: true}, rule)
	rule, _ = set.Match("shop", entries("plan=free,user=root"))
	require.Equal(t, []string{"root", "other"}, rule.Replaces)
	require.Equal(t, Unit("day"), rule.Unit)
	require.EqualValues(t, 1000, rule.RequestsPerUnit)
	for _, domain := range []string{"", "shop2"} {
		rule, _ = set.Match(domain, entries("user=42"))
		require.Nil(t, rule)
	}
	rule, _ = set.Match("shop", nil)
	require.Nil(t, rule)
}

// TestKeysDiffer: no two lists of values are counted by the same key.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	set := parsed(t, `
domain: d
descriptors:
  - key: a
    descriptors:
      - key: b
        rate_limit: {unit: second, requests_per_unit: 1}
`)
	long := strings.Repeat("x", longestKey)
	seen := make(map[string][2]string)
	for _, values := range [][2]string{
		{"a", "bc"}, {"ab", "c"}, {"", "abc"}, {"abc", ""}, {"", ""}, {"1:b", ""}, {"", "1:b"}, {"a1:b", ""},
		{"{x}", "y"}, {"{}", "{x}y"}, {"{x", "}y"}, {long, "y"}, {"y", long}, {long + "y", ""}, {"sha256:", ""},
	} {
		_, key := set.Match("d", []Entry{{"a", values[0]}, {"b", values[1]}})
		before, ok := seen[key]
		require.False(t, ok, "%q and %q are both %q", values, before, key)
		seen[key] = values
		require.LessOrEqual(t, len(key), longestKey+len("{}"))
		if i := strings.IndexByte(key, '{'); i >= 0 {
			require.Equal(t, byte('}'), key[i+1], "%q chooses its slot", key)
		}
	}
}

// TestNamesDiffer: what is not the same path has not the same name.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, c := range []struct {
		domain, path string
		plain        string // the name, if it has no hash
	}{
		{"a", "b", "a.b"}, {"a", "b,c", "a.b.c"}, {"a.b", "c", ""}, {"a", "b.c", ""}, {"a", "b=c", ""}, {"a", "b_c", "a.b_c"},
		{"a", "b=c,d", ""}, {"a", "b,c=d", ""}, {"a", "b=c.d", ""}, {"a", "é", ""}, {"a", "è", ""}, {"a", "b=x*", ""}, {"a", "b=x_", ""},
		{"a", strings.Repeat("n", 62), "a." + strings.Repeat("n", 62)}, {"a", strings.Repeat("n", 63), ""}, {"a", strings.Repeat("n", 64), ""},
	} {
		name := nameOf(c.domain, entries(c.path))
		what := fmt.Sprintf("%q %q", c.domain, c.path)
		require.Empty(t, seen[name], "%s and %s", what, seen[name])
		seen[name] = what
		if c.plain != "" {
			require.Equal(t, c.plain, name)
		}
		_, err := limitOf(limit.Rule{Name: name, Window: time.Second})
		require.NoError(t, err)
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	rule, key, err := Override("shop", entries("a=b,c=d"), 7, "minute", false)
	require.NoError(t, err)
	require.Equal(t, "4:shop1:a1:b1:c1:d", key)
	require.Equal(t, limit.Rule{Name: "override-minute", Quota: 7, Window: time.Minute}, rule.Own)
	_, _, err = Override("shop", entries("a=b"), 7, "unknown", false)
	require.EqualError(t, err, `unit = "unknown": want second, minute, hour, day, week, month or year`)
}

// TestCalendar: a time zone, or the day on which a period begins, makes windows of the calendar.
func TestCalendar(t *testing.T) {
	t.Parallel()
	set := parsed(t, `domain: d
descriptors:
  - {key: bill, rate_limit: {unit: month, requests_per_unit: 1, timezone: Europe/Berlin, starts_on: 15, warn: 0.8}}
  - {key: day, rate_limit: {unit: DAY, requests_per_unit: 1, timezone: UTC, warn: 1}}
  - {key: week, rate_limit: {unit: week, requests_per_unit: 1, algorithm: fixed_window, starts_on: 7}}
`)
	for key, want := range map[string]limit.Rule{
		"bill": {Calendar: limit.Calendar{Unit: limit.Month, Zone: "Europe/Berlin", StartsOn: 15}, Warn: 0.8},
		"day":  {Calendar: limit.Calendar{Unit: limit.Day, Zone: "UTC"}, Warn: 1},
		"week": {Calendar: limit.Calendar{Unit: limit.Week, StartsOn: 7}},
	} {
		rule, _ := set.Match("d", []Entry{{key, "v"}})
		want.Name, want.Quota = "d."+key, 1
		require.Equal(t, want, rule.Limit.Rule())
		require.Positive(t, rule.Window())
	}
}

// TestMistakes: each has the file, the line and the reason.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const head = "domain: d\ndescriptors:\n- key: k\n  rate_limit:\n"
	for _, c := range []struct{ text, want string }{
		{"", "rules.yaml: it is empty"},
		{"# nothing\n", "rules.yaml: it is empty"},
		{"domain: d\n descriptors: []\n", "rules.yaml:2: "},
		{"a\tb: [", "rules.yaml:"},
		{"domain: [d\n", "rules.yaml:"},
		{"- domain: d\n", "rules.yaml:1: want a mapping"},
		{"descriptors: []\n", "rules.yaml:1: the file has no domain"},
		{"domain:\n", "rules.yaml:1: the file has no domain"},
		{"domain: {}\n", "rules.yaml:1: want a word"},
		{"domain: d\nlimits: []\n", `rules.yaml:2: unknown field "limits" of a file`},
		{"domain: d\ndomain: e\n", `rules.yaml:2: mapping key "domain" already defined at line 1`},
		{"domain: d\n---\ndomain: e\n", "rules.yaml:2: a second document"},
		{"domain: d\n---\n---\ndomain: e\n", "rules.yaml:3: a second document"},
		{"domain: d\n---\n}\n", "rules.yaml:"},
		{"domain: d\ndescriptors: k\n", `rules.yaml:2: "k": want a list`},
		{"domain: d\ndescriptors:\n- k\n", `rules.yaml:3: "k": want a mapping`},
		{"domain: d\ndescriptors:\n- key: k\n-\n", "rules.yaml:4: want a mapping"},
		{"domain: d\ndescriptors:\n- value: v\n", "rules.yaml:3: a descriptor has no key"},
		{"domain: d\ndescriptors:\n- key: k\n  valeu: v\n", `rules.yaml:4: unknown field "valeu" of a descriptor`},
		{head + "    nuit: second\n", `rules.yaml:5: unknown field "nuit" of a rate_limit`},
		{"domain: d\ndescriptors: " + strings.Repeat("[{key: k, descriptors: ", 33) + strings.Repeat("}]", 33), "descriptors in one another: must be at most 32"},
		{"domain: d\ndescriptors:\n- key: k\n- key: k\n", `rules.yaml:4: a second descriptor with key "k" and value "", as in line 3`},
		{"domain: d\ndescriptors:\n- key: k\n  value: v\n- key: k\n  value: v\n", `rules.yaml:5: a second descriptor with key "k" and value "v", as in line 3`},
		{"domain: d\ndescriptors:\n- key: k\n  value: v*\n- key: k\n  value: v*\n", `rules.yaml:5: a second descriptor`},
		{"domain: d\ndescriptors:\n- key: k\n  shadow_mode: perhaps\n", `rules.yaml:4: "perhaps": want true or false`},
		{"domain: d\ndescriptors:\n- key: k\n  shadow_mode: true\n", "rules.yaml:3: shadow_mode or quota_mode on a descriptor that has no limit"},
		{"domain: d\ndescriptors:\n- key: k\n  quota_mode: true\n", "rules.yaml:3: shadow_mode or quota_mode on a descriptor that has no limit"},
		{head + "    unit: second\n", "rules.yaml:5: rate_limit has no requests_per_unit"},
		{head + "    requests_per_unit: 1\n", `rules.yaml:5: unit = "": want second, minute, hour`},
		{head + "    requests_per_unit: 1\n    unit: fortnight\n", `rules.yaml:5: unit = "fortnight"`},
		{head + "    requests_per_unit: -1\n    unit: second\n", `rules.yaml:5: requests_per_unit = -1: want a whole number, 0 to 4294967295`},
		{head + "    requests_per_unit: 4294967296\n    unit: second\n", `rules.yaml:5: requests_per_unit = 4294967296: want`},
		{head + "    requests_per_unit: 1.5\n    unit: second\n", `rules.yaml:5: "1.5": want a whole number`},
		{head + "    requests_per_unit: many\n    unit: second\n", `rules.yaml:5: "many": want a whole number`},
		{head + "    requests_per_unit: 1\n    unit: second\n    algorithm: leaky\n", `rules.yaml:5: algorithm = "leaky": want fixed_window`},
		{head + "    requests_per_unit: 1\n    unit: second\n    burst: 2\n", "rules.yaml:5: Rule d.k: Burst = 2: only a TokenBucket has one"},
		{head + "    requests_per_unit: 0\n    unit: second\n    algorithm: token_bucket\n", "rules.yaml:5: Rule d.k: Quota = 0"},
		{head + "    {unit: hour, requests_per_unit: 1, timezone: UTC}", `rules.yaml:5: unit = "hour" with timezone or starts_on: want day, week, month or year`},
		{head + "    {unit: day, requests_per_unit: 1, timezone: UTC, algorithm: token_bucket}", `rules.yaml:5: algorithm = "token_bucket" with timezone or starts_on: want fixed_window`},
		{head + "    {unit: day, requests_per_unit: 1, timezone: Berlin}", `rules.yaml:5: Rule d.k: Calendar.Zone = Berlin: unknown time zone Berlin`},
		{head + "    {unit: day, requests_per_unit: 1, starts_on: 2}", `rules.yaml:5: Rule d.k: Calendar.StartsOn = 2: only a Week and a Month have one`},
		{head + "    {unit: week, requests_per_unit: 1, starts_on: 8}", `rules.yaml:5: Rule d.k: Calendar.StartsOn = 8: must be 1 to 7 for a Week`},
		{head + "    {unit: month, requests_per_unit: 1, starts_on: 0}", `rules.yaml:5: starts_on = 0: must be 1 to 31`},
		{head + "    {unit: month, requests_per_unit: 1, starts_on: first}", `rules.yaml:5: "first": want a whole number`},
		{head + "    {unit: day, requests_per_unit: 1, warn: 80}", `rules.yaml:5: Rule d.k: Warn = 80: must be 0 to 1`},
		{head + "    {unit: day, requests_per_unit: 1, warn: yes}", `rules.yaml:5: "yes": want a number`},
		{head + "    requests_per_unit: 1\n    unit: second\n    algorithm: token_bucket\n    burst: 0\n", "rules.yaml:5: burst = 0: must be at least 1"},
		{head + "    unlimited: true\n    unit: second\n", "rules.yaml:5: rate_limit is unlimited"},
		{head + "    unlimited: true\n    charge: true\n", "rules.yaml:5: rate_limit is unlimited"},
		{head + "    name: a\n    replaces: [{name: a}]\n    unlimited: true\n", `rules.yaml:5: rate_limit "a" replaces itself`},
		{head + "    replaces: [{}]\n", "rules.yaml:5: replaces: want the name of a rate_limit"},
		{"domain: d\ndescriptors: &a\n- key: k\n  descriptors: *a\n", "contains itself"},
		{strings.Repeat(" ", mostText+1), "rules.yaml: 16777217 bytes: must be at most 16777216"},
		{bomb(), "excessive aliasing"},
	} {
		_, err := Parse(limitOf, Source{"rules.yaml", []byte(c.text)})
		var mistake *Error
		require.True(t, errors.As(err, &mistake), "%v of %.200s", err, c.text)
		require.ErrorContains(t, err, c.want, "%.200s", c.text)
	}
}

// bomb returns a text in which aliases repeat one another 10^9 times.
func bomb() string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	b.WriteString("- &a0 {key: k, value: v}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "- &a%d {key: k%[1]d, descriptors: [", i)
		for j := range 10 {
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "{key: x%d, descriptors: [*a%d]}", j, i-1)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// TestDomainInSeveralFiles: their rules are merged, and each descriptor is in one of them.
func TestDomainInSeveralFiles(t *testing.T) {
	t.Parallel()
	file := func(descriptors string) []byte { return []byte("domain: d\ndescriptors:\n" + descriptors) }
	limit := "rate_limit: {unit: second, requests_per_unit: 1}"
	a := Source{"a.yaml", file("- {key: k, " + limit + "}\n- {key: k, value: v, descriptors: [{key: l, " + limit + "}]}\n")}
	set, err := Parse(limitOf, a, Source{"b.yaml", file("- {key: k, value: w, " + limit + "}\n- {key: m, " + limit + "}\n")})
	require.NoError(t, err)
	require.Equal(t, 1, set.Domains())
	require.Equal(t, 4, set.Rules())
	for _, path := range []string{"k=x", "k=v,l=1", "k=w", "m=1"} {
		rule, _ := set.Match("d", entries(path))
		require.NotNil(t, rule, path)
	}
	_, err = Parse(limitOf, a, Source{"b.yaml", file("- {key: m, " + limit + "}\n- {key: k, value: v, descriptors: [{key: n, " + limit + "}]}\n")})
	require.EqualError(t, err, `b.yaml:4: a second descriptor with key "k" and value "v" in domain "d", as at a.yaml:4: put both into one file, as one`)
}

// TestSameName: a key can be made so that its name is that of another rule, with its
// hash. Their counts must not be one.
func TestSameName(t *testing.T) {
	t.Parallel()
	name := nameOf("d", entries("k=v"))
	key, _ := strings.CutPrefix(name, "d.")
	_, err := Parse(limitOf, Source{"rules.yaml", fmt.Appendf(nil, `domain: d
descriptors:
  - {key: k, value: v, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: %s, rate_limit: {unit: second, requests_per_unit: 1}}
`, key)})
	require.EqualError(t, err, "rules.yaml:4: the limit's name, "+name+", is also that of the one at rules.yaml:3: rename a key")
}

// FuzzParse: any text is either a mistake, or rules of which each has a name of its own
// and is found by what it is for.
func FuzzParse(f *testing.F) {
	f.Add(full)
	if text, err := os.ReadFile("../../rules.yaml"); err == nil {
		f.Add(string(text))
	}
	f.Add("domain: d\ndescriptors: &a\n- key: k\n  descriptors: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse(limitOf, Source{"rules.yaml", []byte(text)})
		if err != nil {
			var mistake *Error
			require.True(t, errors.As(err, &mistake), err)
			return
		}
		names := make(map[string]bool)
		found := 0
		for domain, root := range set.domains {
			root.walk(nil, true, func(path []Entry, exact bool, n *node) {
				rule, _ := set.Match(domain, path)
				if exact {
					require.Same(t, n.rule, rule, "%q", path)
				}
				found++
				if !n.rule.Unlimited {
					name := n.rule.Limit.Rule().Name
					require.False(t, names[name], name)
					names[name] = true
				}
			})
		}
		require.Equal(t, set.Rules(), found)
	})
}

// walk calls f for each node with a rule, with what it matches, and whether nothing
// else can match that.
func (n *node) walk(path []Entry, exact bool, f func([]Entry, bool, *node)) {
	if n.rule != nil {
		f(path, exact, n)
	}
	below := func(e Entry, exact bool, n *node) { n.walk(append(path[:len(path):len(path)], e), exact, f) }
	for e, next := range n.exact {
		below(e, exact, next)
	}
	for key, next := range n.any {
		below(Entry{key, ""}, exact && len(n.prefixes[key]) == 0, next)
	}
	for key, all := range n.prefixes {
		for _, p := range all {
			below(Entry{key, p.text}, false, p.node)
		}
	}
}
