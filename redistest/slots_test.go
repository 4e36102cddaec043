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
		"redistest: slot = 16384: want 0 to 16383":                         func() { e.Owner(16384) },
		"redistest: slot = 20000: want 0 to 16383":                         func() { e.StartMigration(20000, 1) },
		"redistest: slot = 60000: want 0 to 16383":                         func() { e.FinishMigration(60000) },
		"redistest: slot = 65535: want 0 to 16383":                         func() { e.Move(65535, 1) },
		"redistest: node = 7: want 0 to 1":                                 func() { e.StartMigration(5, 7) },
		"redistest: node = -1: want 0 to 1":                                func() { e.Move(5, -1) },
		"redistest: node = 2: want 0 to 1":                                 func() { e.Inject(2, nil) },
		"redistest: node = 3: want 0 to 1":                                 func() { e.Calls(3, "GET") },
		"redistest: StartMigration: node 0 owns slot 5: want another node": func() { e.StartMigration(5, 0) },
	} {
		require.PanicsWithValue(t, text, call)
	}
}

// TestEmulatedMovesAllKeysOrNone: nothing moves if a key of the slot is not a string.
func TestEmulatedMovesAllKeysOrNone(t *testing.T) {
	t.Parallel()
	const slot = 100
	for name, move := range map[string]func(*Emulated){
		"Move":            func(e *Emulated) { e.Move(slot, 1) },
		"FinishMigration": func(e *Emulated) { e.FinishMigration(slot) },
	} {
		e := StartEmulated(t, 2)
		from, to := e.Nodes()[0], e.Nodes()[1]
		text, list := KeyInSlot(slot, "a"), KeyInSlot(slot, "list")
		require.NoError(t, from.Set(text, "1"))
		_, err := from.Push(list, "x")
		require.NoError(t, err)
		e.StartMigration(slot, 1)
		require.Panics(t, func() { move(e) }, name)
		require.Equal(t, 0, e.Owner(slot), name)
		require.Equal(t, []string{text, list}, from.Keys(), name)
		require.Empty(t, to.Keys(), name)
		from.Del(list)
		e.FinishMigration(slot)
		require.Equal(t, 1, e.Owner(slot), name+": the migration is still on")
	}
}

// TestEndOfAMigration: whichever way a migration ends, the keys that clients have written at its target stay
// with the others.
func TestEndOfAMigration(t *testing.T) {
	const slot = 5
	old, late := KeyInSlot(slot, "old"), KeyInSlot(slot, "late")
	for name, c := range map[string]struct {
		end   func(e *Emulated)
		owner int
	}{
		"it is finished":           {func(e *Emulated) { e.FinishMigration(slot) }, 1},
		"the slot moves elsewhere": {func(e *Emulated) { e.Move(slot, 2) }, 2},
		"the slot moves back":      {func(e *Emulated) { e.Move(slot, 0) }, 0},
		"another one begins":       {func(e *Emulated) { e.StartMigration(slot, 2) }, 0},
		"it begins again":          {func(e *Emulated) { e.StartMigration(slot, 1); e.FinishMigration(slot) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := StartEmulated(t, 3)
			require.NoError(t, e.Nodes()[0].Set(old, "1"))
			e.StartMigration(slot, 1)
			require.NoError(t, e.Nodes()[1].Set(late, "2"))
			c.end(e)
			require.Equal(t, c.owner, e.Owner(slot))
			for i, n := range e.Nodes() {
				if i == c.owner {
					require.Equal(t, []string{late, old}, n.Keys())
				} else {
					require.Empty(t, n.Keys())
				}
			}
		})
	}
}
