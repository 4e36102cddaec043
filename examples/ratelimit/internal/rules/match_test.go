package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShareThreshold: all values that match share a counter, also below, and no others.
func TestShareThreshold(t *testing.T) {
	t.Parallel()
	const limit = "rate_limit: {unit: second, requests_per_unit: 1}"
	set := parsed(t, `domain: d
descriptors:
  - {key: path, value: /files/*, share_threshold: true, value_to_metric: true, `+limit+`, descriptors: [{key: user, `+limit+`}]}
  - {key: path, value: /img/*, share_threshold: false, `+limit+`}
`)
	counter := func(path string) string {
		rule, key := set.Match("d", entries(path))
		require.NotNil(t, rule, path)
		return rule.Limit.Rule().Name + " " + key
	}
	require.Equal(t, counter("path=/files/a"), counter("path=/files/b"))
	require.Equal(t, counter("path=/files/a,user=1"), counter("path=/files/b,user=1"))
	require.NotEqual(t, counter("path=/files/a,user=1"), counter("path=/files/a,user=2"))
	require.NotEqual(t, counter("path=/files/a"), counter("path=/files/a,user=1"))
	require.NotEqual(t, counter("path=/img/a"), counter("path=/img/b"))
	_, err := Parse(limitOf, Source{"rules.yaml", []byte("domain: d\ndescriptors:\n  - {key: k, value: v, share_threshold: true, " + limit + "}\n")})
	require.EqualError(t, err, `rules.yaml:3: share_threshold on a descriptor with value "v": want a value that ends in *, or no share_threshold`)
}

// TestEmpty: an entry with an empty key matches no rule, and one with an empty value the
// descriptor without a value.
func TestEmpty(t *testing.T) {
	t.Parallel()
	set := parsed(t, "domain: d\ndescriptors: [{key: k, rate_limit: {unit: second, requests_per_unit: 1}}]\n")
	none, _ := set.Match("d", []Entry{{"", "v"}})
	require.Nil(t, none)
	rule, empty := set.Match("d", []Entry{{"k", ""}})
	require.NotNil(t, rule)
	_, other := set.Match("d", []Entry{{"k", "v"}})
	require.NotEqual(t, empty, other)
}

// TestMatchMap: a bucket id matches as a descriptor with its entries in the order of the levels does.
func TestMatchMap(t *testing.T) {
	t.Parallel()
	set := parsed(t, `
domain: d
descriptors:
  - key: z
    descriptors:
      - key: a
        rate_limit: {unit: second, requests_per_unit: 1}
  - key: a
    value: only
    descriptors:
      - key: y
        descriptors:
          - key: z
            rate_limit: {unit: second, requests_per_unit: 2}
      - key: z
        rate_limit: {unit: second, requests_per_unit: 3}
  - key: w
    value: x*
    rate_limit: {unit: second, requests_per_unit: 4}
`)
	type id = map[string]string
	for _, c := range []struct {
		id    id
		in    []Entry // the same as a descriptor
		limit uint32  // 0: no rule
	}{
		{id{"a": "1", "z": "2"}, []Entry{{"z", "2"}, {"a", "1"}}, 1},
		{id{"a": "only", "z": "2"}, []Entry{{"a", "only"}, {"z", "2"}}, 3},
		{id{"a": "only", "y": "1", "z": "2"}, []Entry{{"a", "only"}, {"y", "1"}, {"z", "2"}}, 2},
		{id{"w": "xyz"}, []Entry{{"w", "xyz"}}, 4},
		{id{"w": "y"}, nil, 0},
		{id{"z": "2"}, nil, 0},
		{id{"a": "1", "z": "2", "more": "3"}, nil, 0},
		{id{}, nil, 0},
	} {
		rule, key := set.MatchMap("d", c.id)
		if c.limit == 0 {
			require.Nil(t, rule, "%v", c.id)
			continue
		}
		require.NotNil(t, rule, "%v", c.id)
		require.Equal(t, c.limit, rule.RequestsPerUnit, "%v", c.id)
		same, sameKey := set.Match("d", c.in)
		require.Same(t, same, rule)
		require.Equal(t, sameKey, key)
	}
	rule, _ := set.MatchMap("unknown", id{"a": "1"})
	require.Nil(t, rule)
}
