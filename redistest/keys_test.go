package redistest

import (
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

func TestKeysInSlots(t *testing.T) {
	t.Parallel()
	seen := map[uint16]bool{}
	for _, key := range KeysInSlots(10, "p") {
		seen[radix.ClusterSlot([]byte(key))] = true
	}
	require.Len(t, seen, 10)
}

// TestKeysThatCannotBe: there is an answer, not a search without an end.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, ask := range map[string]func(){
		"redistest: KeyInSlot: slot = 16384: want 0 to 16383":                                              func() { KeyInSlot(16384, "p") },
		`redistest: KeyInSlot: prefix = "{tag}": its hash tag decides the slot; want a prefix without one`: func() { KeyInSlot(1, "{tag}") },
		"redistest: KeysInSlots: n = -1: want 0 to 16384, one key in a slot":                               func() { KeysInSlots(-1, "p") },
		"redistest: KeysInSlots: n = 16385: want 0 to 16384, one key in a slot":                            func() { KeysInSlots(16385, "p") },
	} {
		require.PanicsWithValue(t, want, ask)
	}
	for _, prefix := range []string{"", "{", "}{", "{}", "{}{x}"} { // no tags
		require.EqualValues(t, 16383, radix.ClusterSlot([]byte(KeyInSlot(16383, prefix))), prefix)
	}
	require.Empty(t, KeysInSlots(0, "p"))
}
