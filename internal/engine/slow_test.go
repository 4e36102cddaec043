package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

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
