package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
