package slots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told makes a map of claims "node slots epoch", such as "a 0-9 3". The node a
// has the ID id-a and the address a:1; "old/a" has the ID old-a and the same
// address.
func told(t testing.TB, claims ...string) *Map {
	t.Helper()
	var ranges []Range
	n := NodesReply{Epochs: make(map[string]uint64)}
	for _, c := range claims {
		var name string
		var first, last uint16
		var epoch uint64
		_, err := fmt.Sscanf(c, "%s %d-%d %d", &name, &first, &last, &epoch)
		require.NoError(t, err, c)
		prefix, host, found := strings.Cut(name, "/")
		if !found {
			prefix, host = "id", name
		}
		id := prefix + "-" + host
		ranges = append(ranges, Range{first, last, []NodeAddr{{Addr: host + ":1", ID: id}}})
		if epoch > 0 {
			n.Epochs[id] = epoch
		}
	}
	return NewMap(ranges, n)
}

var (
	thirds   = []string{"a 0-5460 1", "b 5461-10922 2", "c 10923-16383 3"}
	anew     = []string{"new/a 0-5460 1", "new/b 5461-10922 2", "new/c 10923-16383 3"}
	renewed  = []string{"a 0-5460 5", "b 5461-10922 2", "c 10923-16383 3"}
	promoted = []string{"a2 0-5460 4", "b 5461-10922 2", "c 10923-16383 3"}
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		use    []string // nil: the first contact
		taught []Lesson
		said   []string
		want   Flaw
	}{
		"first contact":                      {nil, nil, thirds, NoFlaw},
		"first contact, one slot":            {nil, nil, []string{"a 0-0 1"}, holes},
		"the same":                           {thirds, nil, thirds, NoFlaw},
		"failover":                           {thirds, nil, promoted, NoFlaw},
		"from before the failover":           {promoted, nil, thirds, older},
		"epochs are not told":                {thirds, nil, []string{"a2 0-5460 0", "b 5461-10922 0", "c 10923-16383 0"}, NoFlaw},
		"one slot":                           {thirds, nil, []string{"a 0-0 1"}, lost},
		"one slot, newer":                    {thirds, nil, []string{"a 0-0 9"}, lost},
		"a shard is lost":                    {thirds, nil, thirds[1:], lost},
		"a slot that nobody had is still so": {thirds[1:], nil, thirds[1:], holes},
		"scaled in to one node":              {thirds, nil, []string{"c 0-16383 7"}, NoFlaw},
		"a node has joined":                  {thirds, nil, []string{"a 0-5460 1", "d 5461-10922 4", "c 10923-16383 3"}, NoFlaw},
		"made anew":                          {thirds, nil, anew, Foreign},
		"another cluster":                    {thirds, nil, []string{"x 0-8000 1", "y 8001-16383 2"}, Foreign},
		"what MOVED has said":                {thirds, []Lesson{{5, "a2:1"}}, promoted, NoFlaw},
		"not yet what MOVED has said":        {thirds, []Lesson{{5, "a2:1"}}, thirds, contrary},
		"newer than what MOVED has said":     {thirds, []Lesson{{5, "a2:1"}}, []string{"a3 0-5460 6", "b 5461-10922 2", "c 10923-16383 3"}, NoFlaw},
		"MOVED, but the epoch is unknown":    {thirds, []Lesson{{5, "a2:1"}}, []string{"a3 0-5460 0", "b 5461-10922 2", "c 10923-16383 3"}, contrary},
		"older and with a loss":              {promoted, nil, []string{"a 0-5460 1", "b 5461-10921 2", "c 10923-16383 3"}, older},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var use *Map
			if test.use != nil {
				use = told(t, test.use...)
			}
			assert.Equal(t, test.want.String(), judge(use, test.taught, told(t, test.said...)).String())
		})
	}
	single := Single("s:1")
	assert.Equal(t, alone, judge(nil, nil, single))
	assert.Equal(t, alone, judge(told(t, thirds...), nil, single))
	assert.Equal(t, NoFlaw, judge(single, nil, Single("s:1")))
	assert.Equal(t, another, judge(single, nil, Single("t:1")), "with other data")
	assert.Equal(t, NoFlaw, judge(single, nil, told(t, thirds...)), "a server that has become a cluster's")
}

// Whether a slot is as the one before it is asked of both maps: the result is
// that of looking at each slot by itself.
func TestJudgeLooksAtEachSlot(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "new/b", "c"}
	random := func(r *rand.Rand) *Map {
		var claims []string
		for slot := 0; slot < Count; {
			end := min(slot+r.IntN(4000), Count-1)
			if i := r.IntN(len(names) + 1); i < len(names) {
				claims = append(claims, fmt.Sprintf("%s %d-%d %d", names[i], slot, end, r.IntN(4)))
			}
			slot = end + 1
		}
		return told(t, claims...)
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		use, said := random(r), random(r)
		want := NoFlaw
		for slot := range said.owner {
			want = max(want, judgeSlot(use, said, slot))
		}
		require.Equal(t, want, judgeSlots(use, nil, said), "seed %d", seed)

		top := NewTable(use, nodesByAddr()).WithOwners([]Move[*server]{{uint16(r.IntN(Count)), &server{addr: "d:1"}}, {uint16(r.IntN(Count)), &server{addr: "e:1"}}})
		var lessons []Lesson
		for slot := range top.Owner {
			if n := top.Primary(int32(slot)); n != nil {
				if c, ok := use.claimOf(slot); !ok || c.Addr != n.addr {
					lessons = append(lessons, Lesson{uint16(slot), n.addr})
				}
			}
		}
		require.Equal(t, lessons, top.Taught(), "seed %d", seed)
	}
}

// nodesByAddr returns a function that makes one node for each address.
func nodesByAddr() func(addr string) *server {
	nodes := make(map[string]*server)
	return func(addr string) *server {
		if nodes[addr] == nil {
			nodes[addr] = &server{addr: addr}
		}
		return nodes[addr]
	}
}

func BenchmarkJudge(b *testing.B) {
	use, said := told(b, thirds...), told(b, thirds...)
	top := NewTable(use, nodesByAddr())
	for b.Loop() {
		if judge(use, top.Taught(), said) != NoFlaw {
			b.Fatal("doubted")
		}
	}
}
