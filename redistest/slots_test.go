package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEmulatedPanicsAtWrongArguments: a method names the node or slot that does not exist.
func TestEmulatedPanicsAtWrongArguments(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 2)
	for text, call := range map[string]func(){
		"redistest: slot = 16384: want 0 to 16383": func() { e.Owner(16384) },
		"redistest: slot = 65535: want 0 to 16383": func() { e.Move(65535, 1) },
		"redistest: node = -1: want 0 to 1":        func() { e.Move(5, -1) },
		"redistest: node = 2: want 0 to 1":         func() { e.Inject(2, nil) },
		"redistest: node = 3: want 0 to 1":         func() { e.Calls(3, "GET") },
	} {
		require.PanicsWithValue(t, text, call)
	}
}

// TestEmulatedMovesAllKeysOrNone: nothing moves if a key of the slot is not a string.
func TestEmulatedMovesAllKeysOrNone(t *testing.T) {
	t.Parallel()
	const slot = 100
	e := StartEmulated(t, 2)
	from, to := e.Nodes()[0], e.Nodes()[1]
	text, list := KeyInSlot(slot, "a"), KeyInSlot(slot, "list")
	require.NoError(t, from.Set(text, "1"))
	_, err := from.Push(list, "x")
	require.NoError(t, err)
	require.Panics(t, func() { e.Move(slot, 1) })
	require.Equal(t, 0, e.Owner(slot))
	require.Equal(t, []string{text, list}, from.Keys())
	require.Empty(t, to.Keys())
}
