package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

func TestSlowCommands(t *testing.T) {
	t.Parallel()
	names := command.SlowNames()
	assert.True(t, slices.IsSorted(names))
	assert.Equal(t, names, slices.Compact(slices.Clone(names)), "each once")
	many := func(n int) string { return strings.Repeat(" {k}", n) }
	for line, want := range map[string]bool{
		"HGETALL a": true, "hgetall a": true, "LRANGE a 0 -1": true, "SCAN 0": true, "EVALSHA x 1 a": true, "SUNION a b": true,
		"GET a": false, "INCRBY a 1": false, "EXPIRE a 1": false, "NO.SUCH a": false, "HGET a b": false, "PING": false,
		"MGET" + many(100): false, "MGET" + many(101): true, "DEL" + many(101): true, "DEL a": false,
		"MSET" + many(200): false, "MSET" + many(202): true, "mget": false,
	} {
		name, args := split(line)
		assert.Equal(t, want, commandTraits(name, args)&command.Slow != 0, line)
	}
}

func TestSlowOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		set        []string
		slow, fast string
	}{
		{nil, "HGETALL KEYS EVAL", "GET HMGET DEL"},
		{append(command.SlowNames(), "hmget"), "HMGET HGETALL KEYS", "GET HGET DEL"},
		{[]string{"SORT", "GET"}, "SORT GET", "HGETALL EVAL KEYS MGET"},
		{[]string{}, "", "HGETALL EVAL"},
	} {
		names, err := SlowOnly(test.set)
		require.NoError(t, err)
		for list, want := range map[string]bool{test.slow: true, test.fast: false} {
			for _, name := range strings.Fields(list) {
				cmd := command.Of(resp.AppendCommand(nil, strings.ToLower(name), "a"))
				assert.Equal(t, want, names.apply(cmd)&command.Slow != 0, name)
			}
		}
	}
	_, err := SlowOnly([]string{"GET", ""})
	require.ErrorContains(t, err, `Slow[1] = ""`)
}
