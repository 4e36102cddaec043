package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
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

func TestSetSlow(t *testing.T) {
	t.Parallel()
	var r Request
	for range 3 {
		r.Commit(r.Buffer(), 7)
	}
	for _, step := range []struct {
		i    int
		slow bool
		want int
	}{{0, true, 1}, {0, true, 1}, {2, true, 2}, {1, false, 2}, {0, false, 1}, {2, false, 0}} {
		r.SetSlow(step.i, step.slow)
		require.Equal(t, step.want, r.slow)
	}
	r.Mark(1, command.Slow|command.ReadOnly)
	require.Equal(t, []mark{0, markSlow | markRepeatable | markReads, 0}, r.marks)
	r.Reset()
	require.Zero(t, r.slow)
}

// TestSplitSlow compares with what splitSlow promises: commands are in one group
// exactly if they were before and both are, or neither is, of a slot that has a
// slow command; the groups are numbered without a gap, fast ones first, both in
// order of first appearance.
func TestSplitSlow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	var r Request
	for range 1000 {
		r.Reset()
		r.groups = r.groups[:0]
		n, used := 1+rnd.IntN(30), 0
		for i := range n {
			slot := rnd.Int32N(12) - 1
			r.Commit(r.Buffer(), slot)
			if rnd.IntN(6) == 0 {
				r.SetSlow(i, true)
			}
			group := max(slot, 0) / 4 // 12 slots on three nodes; the last has no owner
			if slot >= 9 {
				group = slots.NoGroup
			}
			r.groups = append(r.groups, group)
			used = max(used, int(group)+1)
		}
		before := slices.Clone(r.groups)
		r.noteSlowSlots()
		fast, all := r.splitSlow(used)
		requireSplit(t, &r, before, fast, all)
	}
}

func requireSplit(t *testing.T, r *Request, before []int32, fast, all int) {
	slowSlots := map[int32]bool{}
	for i, m := range r.marks {
		slowSlots[r.slots[i]] = slowSlots[r.slots[i]] || m&markSlow != 0
	}
	type class struct {
		group int32
		slow  bool
	}
	numbers, next := map[class]int32{}, int32(0)
	for _, slow := range []bool{false, true} {
		if slow {
			require.EqualValues(t, next, fast)
		}
		for i, g := range before {
			c := class{g, slow}
			if _, found := numbers[c]; !found && g != slots.NoGroup && slowSlots[r.slots[i]] == slow {
				numbers[c] = next
				next++
			}
		}
	}
	require.EqualValues(t, next, all)
	for i, g := range before {
		want := int32(slots.NoGroup)
		if g != slots.NoGroup {
			want = numbers[class{g, slowSlots[r.slots[i]]}]
		}
		require.Equal(t, want, r.groups[i], fmt.Sprint(r.slots, r.marks))
	}
}

func TestSplitSlowDoesNotAllocate(t *testing.T) {
	var r Request
	run := func() {
		r.Reset()
		r.groups = r.groups[:0]
		for i := range int32(20) {
			r.Commit(r.Buffer(), i)
			r.SetSlow(int(i), i%5 == 0)
			r.groups = append(r.groups, i%3)
		}
		r.noteSlowSlots()
		r.splitSlow(3)
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}
