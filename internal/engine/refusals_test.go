package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
)

// TestRefusals plays refusals and successes, one each second, and asks since when the last one is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	type event struct {
		fate  fate.Fate // Unlisted: the command has succeeded
		addr  string
		slot  int32
		wrote bool
	}
	refused := func(f fate.Fate, addr string, slot int32) event { return event{f, addr, slot, false} }
	read := func(addr string, slot int32) event { return event{fate.Unlisted, addr, slot, false} }
	wrote := func(addr string, slot int32) event { return event{fate.Unlisted, addr, slot, true} }
	for name, c := range map[string]struct {
		events []event
		want   int // in which second the last refusal began
	}{
		"the first":                          {[]event{refused(fate.Down, "a", 1)}, 0},
		"it keeps its beginning":             {[]event{refused(fate.Down, "a", 1), refused(fate.Busy, "a", 1)}, 0},
		"another slot of the node":           {[]event{refused(fate.Down, "a", 1), refused(fate.Down, "a", 2)}, 0},
		"another node":                       {[]event{refused(fate.Down, "a", 1), refused(fate.Down, "b", 2)}, 1},
		"the slot at another node":           {[]event{refused(fate.Down, "a", 1), refused(fate.Down, "b", 1)}, 1},
		"ended by a success":                 {[]event{refused(fate.Down, "a", 1), read("a", 1), refused(fate.Down, "a", 1)}, 2},
		"without a key":                      {[]event{refused(fate.Down, "a", -1), read("a", 1), refused(fate.Down, "a", -1)}, 2},
		"the node serves other slots":        {[]event{refused(fate.Down, "a", 1), read("a", 2), refused(fate.Down, "a", 1)}, 0},
		"and begins to refuse those":         {[]event{refused(fate.Down, "a", 1), read("a", 2), refused(fate.Down, "a", 2)}, 2},
		"another node serves the slot":       {[]event{refused(fate.Down, "a", 1), read("b", 1), read("a", 2), refused(fate.Down, "a", 1)}, 3},
		"only the slot is not served":        {[]event{refused(fate.Unserved, "a", 1), refused(fate.Unserved, "a", 2)}, 1},
		"it is not served for longer":        {[]event{refused(fate.Unserved, "a", 1), read("a", 2), refused(fate.Unserved, "a", 1)}, 0},
		"a slot without a server":            {[]event{refused(fate.Unserved, "", 1), refused(fate.Unserved, "", 1)}, 0},
		"is not that of a server":            {[]event{refused(fate.Unserved, "", 1), refused(fate.Unserved, "a", 1)}, 1},
		"no slot has a server":               {[]event{refused(fate.Unserved, "", -1), refused(fate.Unserved, "", -1)}, 0},
		"a read does not end READONLY":       {[]event{refused(fate.ReadOnly, "a", 1), read("a", 1), refused(fate.ReadOnly, "a", 1)}, 0},
		"nor NOREPLICAS":                     {[]event{refused(fate.NoReplicas, "a", 1), read("a", 1), refused(fate.NoReplicas, "a", 1)}, 0},
		"a write does":                       {[]event{refused(fate.ReadOnly, "a", 1), wrote("a", 1), refused(fate.ReadOnly, "a", 1)}, 2},
		"TRYAGAIN is about the command":      {[]event{refused(fate.TryAgain, "a", 1), refused(fate.TryAgain, "a", 1)}, 1},
		"so is a circle of redirects":        {[]event{refused(fate.Nowhere, "a", 1), refused(fate.Down, "a", 1)}, 1},
		"remembered":                         {[]event{refused(fate.Down, "a", 1), 10: refused(fate.Down, "a", 1)}, 0},
		"forgotten if no command has met it": {[]event{refused(fate.Down, "a", 1), 11: refused(fate.Down, "a", 1)}, 11},
	} {
		var all refusals
		var since time.Time
		for i, e := range c.events {
			now := start.Add(time.Duration(i) * time.Second)
			switch {
			case e == event{}: // nothing happens
			case e.fate == fate.Unlisted:
				all.answered(e.addr, e.slot, e.wrote)
			default:
				since, _ = all.refused(e.fate, e.addr, e.slot, now)
			}
		}
		require.Equal(t, start.Add(time.Duration(c.want)*time.Second), since, name)
		require.Equal(t, len(all.at), int(all.open.Load()), name)
	}
}

// TestRefusalsAreForgotten: nodes may come and go.
func TestRefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var all refusals
	require.False(t, all.open.Load() > 0)
	all.refused(fate.Down, "a", 1, now)
	all.refused(fate.Down, "b", 2, now.Add(5*time.Second))
	require.True(t, all.open.Load() > 0)
	all.forget(now.Add(11 * time.Second))
	require.Len(t, all.at, 2)
	all.forget(now.Add(16 * time.Second))
	require.False(t, all.open.Load() > 0)
}

// TestLogIsTold once that a node refuses, when it has refused for a second, and when that is over.
func TestLogIsTold(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var all refusals
	refused := func(after time.Duration) bool {
		_, tell := all.refused(fate.Down, "a", 1, now.Add(after))
		return tell
	}
	require.False(t, refused(0))
	require.False(t, refused(lastingRefusal-1))
	require.True(t, refused(lastingRefusal))
	require.False(t, refused(2*lastingRefusal))
	since, told := all.answered("a", 1, false)
	require.True(t, told)
	require.Equal(t, now, since)
	_, told = all.answered("a", 1, false)
	require.False(t, told)
	all.refused(fate.Unserved, "", -1, now)
	_, tell := all.refused(fate.Unserved, "", -1, now.Add(time.Hour))
	require.False(t, tell, "there is no node")
}
