package model

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// What the model knows of commands before they run is what a server tells.
func TestCommandTable(t *testing.T) {
	eachServer(t, func(t *testing.T, server, binary string) {
		compareTable(t, dialects[server].commands(), servers.StartServer(t, servers.Options{Binary: binary}).Nodes()[0])
	})
}

func compareTable(t *testing.T, commands map[string]*command, server *servers.Node) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range commands {
		var told [][]any
		require.NoError(t, server.Do(ctx, &told, "COMMAND", "INFO", c.name))
		compareInfo(t, c, told[0])
		subs := told[0][9].([]any)
		for _, sub := range c.subs {
			i := slices.IndexFunc(subs, func(info any) bool { return text(info.([]any)[0]) == sub.name })
			require.GreaterOrEqual(t, i, 0, sub.name)
			compareInfo(t, sub, subs[i].([]any))
		}
	}
}

func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v.(string)
}

func compareInfo(t *testing.T, c *command, told []any) {
	require.Equal(t, c.name, text(told[0]))
	require.EqualValues(t, c.arity, told[1], "%s: arity", c.name)
	flags := make(map[string]bool)
	for _, flag := range told[2].([]any) {
		switch flag := text(flag); flag {
		case "skip_monitor", "skip_slowlog", "no_mandatory_keys": // change no reply
		default:
			flags[flag] = true
		}
	}
	mine := maps.Clone(c.flags)
	maps.DeleteFunc(mine, func(_ string, set bool) bool { return !set })
	delete(mine, "may_replicate")
	require.Equal(t, slices.Sorted(maps.Keys(flags)), slices.Sorted(maps.Keys(mine)), "%s: flags", c.name)
	if c.keys == nil {
		require.EqualValues(t, []any{c.first, c.last, c.step}, []any{int(told[3].(int64)), int(told[4].(int64)), int(told[5].(int64))}, "%s: keys", c.name)
	}
}
