package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun: each pool counts a hit, and each mistake names its variable.
func TestRun(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"": "1 hits, Laned\n", "REDIS_LANES=2 REDIS_LANE_STRATEGY=least-used": "1 hits, Laned\n",
		"REDIS_POOL=fixed REDIS_POOL_SIZE=3": "1 hits, Fixed\n", "REDIS_POOL=adaptive REDIS_POOL_SIZE=9 REDIS_POOL_MIN=2": "1 hits, Adaptive\n",
		"REDIS_POOL=none":                               `REDIS_POOL = "none"`,
		"REDIS_POOL_SIZE=x REDIS_TIMEOUT=1":             `REDIS_POOL_SIZE = "x"`,
		"REDIS_TIMEOUT=1":                               `REDIS_TIMEOUT = "1"`,
		"REDIS_LANE_STRATEGY=x":                         `REDIS_LANE_STRATEGY = "x"`,
		"REDIS_URL=http://u:canary@a":                   "REDIS_URL: ",
		"REDIS_POOL=adaptive REDIS_POOL_MIN=9999999999": "Adaptive",
	} {
		env := make(map[string]string)
		for _, v := range strings.Fields(set) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		out := new(strings.Builder)
		err := run(t.Context(), func(name string) string { return env[name] }, out)
		if strings.HasSuffix(want, "\n") {
			require.NoError(t, err, set)
			require.Equal(t, want, out.String())
			continue
		}
		require.ErrorContains(t, err, want, set)
		require.NotContains(t, err.Error(), "canary")
	}
}
