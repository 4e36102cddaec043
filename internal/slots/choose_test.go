package slots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// told makes a map of claims "node slots epoch", such as "a 0-9 3". The node a has the ID id-a and the
// address a:1; "old/a" has the ID old-a and the same address. "single" is a server without cluster mode, and
// "replica" one that follows another.
func told(t testing.TB, claims ...string) *Map {
	t.Helper()
	if len(claims) == 2 && (claims[0] == "single" || claims[0] == "replica") {
		m := Single(claims[1])
		m.Follows = claims[0] == "replica"
		return m
	}
	var ranges []Range
	epochs := make(map[string]uint64)
	for _, c := range claims {
		var name string
		var first, last uint16
		var epoch uint64
		_, err := fmt.Sscanf(c, "%s %d-%d %d", &name, &first, &last, &epoch)
		require.NoError(t, err, c)
		addr, id := nodeOf(name)
		ranges = append(ranges, Range{First: first, Last: last, Nodes: []NodeAddr{{Addr: addr, ID: id}}})
		if epoch > 0 {
			epochs[id] = epoch
		}
	}
	return NewMap(ranges, epochs, "")
}

// nodeOf returns the address and the ID of a node of told.
func nodeOf(name string) (addr, id string) {
	prefix, host, found := strings.Cut(name, "/")
	if !found {
		prefix, host = "id", name
	}
	return host + ":1", prefix + "-" + host
}

// owners says what a map is, as told takes it, without epochs.
func owners(m *Map) (text string) {
	if m == nil {
		return "the same"
	}
	for _, r := range m.Ranges {
		text += fmt.Sprintf("%s %d-%d,", r.owner().ID, r.First, r.Last)
	}
	return text
}

func sameOwners(m, w *Map) bool {
	same := true
	eachRun([]*Map{m, w}, func(_, _ int, rows []*Range) { same = same && rows[0].sameOwner(rows[1]) })
	return same
}

var (
	thirds   = []string{"a 0-5460 1", "b 5461-10922 2", "c 10923-16383 3"}
	anew     = []string{"new/a 0-5460 1", "new/b 5461-10922 2", "new/c 10923-16383 3"}
	promoted = []string{"a2 0-5460 4", "b 5461-10922 2", "c 10923-16383 3"}
	lower    = []string{"a 0-99 1", "b 100-10922 2", "c 10923-16383 3"} // a gave slots to b, whose epoch is smaller than that of renewed
	renewed  = []string{"a 0-5460 5", "b 5461-10922 2", "c 10923-16383 3"}
	other    = []string{"x 0-16383 1"}
)

// TestChoose: which map is used when some servers have answered and some have not. The answers come in every
// order.
func TestChoose(t *testing.T) {
	t.Parallel()
	type said struct {
		by   string // as in told; "": it failed
		says []string
	}
	const failed = ""
	oneSlot := []string{"a 0-0 1"}
	for name, test := range map[string]struct {
		use   []string
		gone  string // addresses
		seeds string
		said  []said
		want  []string // nil: the map in use stays
		asks  bool     // on, if others are there to be asked
	}{
		"the same":                                    {thirds, "", "", []said{{"a", thirds}}, thirds, false},
		"a failover":                                  {thirds, "", "", []said{{"b", promoted}}, promoted, false},
		"only one node can be reached":                {thirds, "", "", []said{{"a", promoted}, {failed, nil}}, promoted, false},
		"a node has joined":                           {thirds, "", "", []said{{"a", []string{"a 0-5460 1", "d 5461-10922 4", "c 10923-16383 3"}}}, []string{"a 0-5460 1", "d 5461-10922 4", "c 10923-16383 3"}, false},
		"scaled in to one node":                       {thirds, "", "", []said{{"a", []string{"c 0-16383 7"}}}, []string{"c 0-16383 7"}, false},
		"one node claims one slot":                    {thirds, "", "", []said{{"a", oneSlot}}, thirds, true},
		"the same, but newer":                         {thirds, "", "", []said{{"a", []string{"b 0-0 9"}}}, []string{"b 0-0 9", "a 1-5460 1", "b 5461-10922 2", "c 10923-16383 3"}, true},
		"two nodes have lost a shard":                 {thirds, "", "", []said{{"b", thirds[1:]}, {"c", thirds[1:]}, {failed, nil}}, thirds, true},
		"its owner is gone":                           {thirds, "a:1", "", []said{{"b", thirds[1:]}, {"c", thirds[1:]}, {failed, nil}}, thirds, true},
		"a partitioned primary":                       {promoted, "", "", []said{{"a", thirds}, {"b", promoted}}, promoted, false},
		"a partitioned primary, the others fail":      {promoted, "", "", []said{{"a", thirds}, {failed, nil}}, promoted, true},
		"most have gone back, without a new epoch":    {promoted, "", "", []said{{"b", thirds}, {"c", thirds}, {failed, nil}}, promoted, true},
		"the same, and the owner is gone":             {promoted, "a2:1", "", []said{{"b", thirds}, {"c", thirds}, {failed, nil}}, thirds, true},
		"the owner itself says so":                    {renewed, "", "", []said{{"a", lower}, {"c", renewed}}, lower, false},
		"another one says so":                         {renewed, "", "", []said{{"b", lower}, {"c", renewed}}, renewed, false},
		"epochs are not told":                         {thirds, "", "", []said{{"b", []string{"a2 0-5460 0", "b 5461-10922 0", "c 10923-16383 0"}}}, promoted, false},
		"nobody knows of some slots":                  {thirds[1:], "", "", []said{{"b", thirds[1:]}, {failed, nil}}, thirds[1:], true},
		"two say so":                                  {thirds[1:], "", "", []said{{"b", thirds[1:]}, {"c", thirds[1:]}}, thirds[1:], false},
		"nobody knew of some slots, but one does":     {thirds[1:], "", "", []said{{"b", thirds[1:]}, {"c", thirds}}, thirds, false},
		"all were made anew":                          {thirds, "", "", []said{{"new/a", anew}, {"new/b", anew}, {"new/c", anew}}, anew, true},
		"most were made anew, one fails":              {thirds, "", "", []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}}, nil, true},
		"the same, at a seed":                         {thirds, "a:1 b:1", "a:1", []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}}, nil, true},
		"the same, and ours are gone":                 {thirds, "a:1 b:1 c:1", "a:1", []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}}, anew, true},
		"replaced elsewhere, a seed says so":          {thirds, "a:1 b:1 c:1", "dead:1 x:1", []said{{"x", other}, {failed, nil}}, other, true},
		"the same, and no seed says so":               {thirds, "a:1 b:1 c:1", "dead:1", []said{{"x", other}, {failed, nil}}, nil, true},
		"the same, and a node of ours answers":        {thirds, "a:1 b:1 c:1", "x:1", []said{{"x", other}, {"b", oneSlot}}, thirds, true},
		"replaced by two clusters, each with a seed":  {thirds, "a:1 b:1 c:1", "x:1 y:1", []said{{"x", other}, {"y", []string{"y 0-16383 1"}}}, nil, true},
		"one is another cluster's":                    {thirds, "", "", []said{{"new/a", anew}, {"b", thirds}}, thirds, false},
		"first contact with one slot, a seed has all": {nil, "", "", []said{{"a", oneSlot}, {"b", thirds}}, thirds, false},
		"first contact with one slot":                 {nil, "", "", []said{{"a", oneSlot}, {failed, nil}}, oneSlot, true},
		"first contact with two clusters":             {nil, "", "b:1 x:1", []said{{"b", thirds[1:]}, {"x", []string{"x 0-99 9"}}}, thirds[1:], true},
		"one server at the first contact":             {nil, "", "", []said{{"s", []string{"single", "s:1"}}, {failed, nil}}, []string{"single", "s:1"}, true},
		"one server as a seed of a cluster":           {nil, "", "s:1", []said{{"s", []string{"single", "s:1"}}, {"b", thirds}}, thirds, false},
		"one server later":                            {thirds, "a:1 b:1 c:1", "s:1", []said{{"s", []string{"single", "s:1"}}}, nil, true},
		"a primary before replicas":                   {nil, "", "r:1 s:1", []said{{"r", []string{"replica", "r:1"}}, {"s", []string{"single", "s:1"}}}, []string{"single", "s:1"}, true},
		"replicas only":                               {nil, "", "r:1 q:1", []said{{"q", []string{"replica", "q:1"}}, {"r", []string{"replica", "r:1"}}}, []string{"replica", "r:1"}, true},
		"a server beside the one in use":              {[]string{"single", "s:1"}, "", "", []said{{"u", []string{"single", "u:1"}}, {failed, nil}}, nil, true},
		"the same, and the one in use is gone":        {[]string{"single", "s:1"}, "s:1", "", []said{{"u", []string{"single", "u:1"}}, {failed, nil}}, []string{"single", "u:1"}, true},
		"the one in use is a replica now":             {[]string{"single", "s:1"}, "", "", []said{{"s", []string{"replica", "s:1"}}, {"u", []string{"single", "u:1"}}}, []string{"single", "u:1"}, true},
		"the same, and no other one is there":         {[]string{"single", "s:1"}, "", "", []said{{"s", []string{"replica", "s:1"}}, {"q", []string{"replica", "q:1"}}}, []string{"replica", "s:1"}, true},
		"the server is a cluster's now":               {[]string{"single", "a:1"}, "", "a:1", []said{{"a", thirds}}, thirds, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range len(test.said) {
				test.said = append(test.said[1:], test.said[0])
				p := Poll{Seeds: strings.Fields(test.seeds), Gone: func(addr string) bool { return slices.Contains(strings.Fields(test.gone), addr) }}
				if test.use != nil {
					p.Use = told(t, test.use...)
				}
				for _, s := range test.said {
					if s.by == failed {
						p.Failed++
						continue
					}
					addr, id := nodeOf(s.by)
					p.Answers = append(p.Answers, Answer{addr, id, told(t, s.says...)})
				}
				require.Equal(t, !test.asks, p.Choose().Done)
				p.All = true
				got := p.Choose()
				require.True(t, got.Done)
				if test.want == nil {
					require.Nil(t, got.Map)
					continue
				}
				want := told(t, test.want...)
				require.NotNil(t, got.Map)
				require.True(t, sameOwners(want, got.Map), "%s", owners(got.Map))
				require.Equal(t, []any{want.Kind, want.Follows}, []any{got.Map.Kind, got.Map.Follows})
			}
		})
	}
}

// TestChooseAmongSentinels: the greatest epoch wins. The first contact waits for more than half of the
// Sentinels that are named, so that one that was cut off does not lead to the old primary.
func TestChooseAmongSentinels(t *testing.T) {
	t.Parallel()
	said := func(text string) Answer { // Sentinel, primary, epoch, and the Sentinels with their IDs
		f := strings.Fields(text)
		var epoch uint64
		_, err := fmt.Sscan(f[2], &epoch)
		require.NoError(t, err)
		return Answer{f[0], f[0], Watch(epoch, f[1], nil, f[3:], f[3:])}
	}
	for name, test := range map[string]struct {
		use, gone string
		said      []string
		failed    int
		done      bool // before all are asked
		want      string
	}{
		"first contact":                  {"", "", []string{"s a 1 s"}, 0, true, "a"},
		"one of three":                   {"", "", []string{"s a 1 s t u"}, 0, false, "a"},
		"two of three":                   {"", "", []string{"s a 1 s t u", "t b 2 s t u"}, 0, true, "b"},
		"all that can":                   {"", "", []string{"s a 1 s t u"}, 2, false, "a"},
		"a failover":                     {"s a 1 s t u", "", []string{"t b 2 s t u"}, 0, false, "b"},
		"one that was cut off":           {"s b 2 s t u", "", []string{"t a 1 s t u"}, 2, false, "b"},
		"all say less":                   {"s b 2 s t u", "", []string{"s a 1 s t u", "t a 1 s t u", "u a 1 s t u"}, 0, false, "b"},
		"the same, and b is gone":        {"s b 2 s t u", "b", []string{"s a 1 s t u", "t a 1 s t u", "u a 1 s t u"}, 0, false, "a"},
		"the name stays, and the epoch":  {"s a 1 s t u", "", []string{"t a 1 s t u", "u a 1 s t u"}, 0, true, "a"},
		"others beside one of ours":      {"s b 2 s t u", "", []string{"v a 9 v w", "s b 2 s t u"}, 0, false, "b"},
		"others in place of all of ours": {"s b 2 s t u", "", []string{"v a 1 v w", "w a 1 v w"}, 0, false, "a"},
		"the same, and one fails":        {"s b 2 s t u", "", []string{"v a 1 v w"}, 1, false, ""},
		"the same, and ours are gone":    {"s b 2 s t u", "s t u", []string{"v a 1 v w"}, 1, false, "a"},
	} {
		p := Poll{Seeds: []string{"s", "v"}, Failed: test.failed, Gone: func(addr string) bool { return strings.Contains(test.gone, addr) }}
		if test.use != "" {
			p.Use = said(test.use).Map
		}
		for _, text := range test.said {
			p.Answers = append(p.Answers, said(text))
		}
		require.Equal(t, test.done, p.Choose().Done, name)
		p.All = true
		got := ""
		if m := p.Choose().Map; m != nil {
			got = m.Addr()
		}
		require.Equal(t, test.want, got, name)
	}
}

// TestChooseAtRandom: whatever servers say, the order of their answers does not matter, no slot is lost, and
// no stranger's node comes beside ours. Of several claims with known epochs to a slot the greatest has it,
// unless its own node has given it away.
func TestChooseAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := Poll{All: r.IntN(2) == 0, Use: randomMap(t, r, "abc", ""), Seeds: []string{"a:1"}}
		gone := "abcd"[:r.IntN(4)]
		p.Gone = func(addr string) bool { return strings.Contains(gone, addr[:1]) }
		for _, host := range "abcd"[:1+r.IntN(4)] {
			prefix := ""
			if r.IntN(5) == 0 {
				prefix = "new/"
			}
			addr, id := nodeOf(prefix + string(host))
			p.Answers = append(p.Answers, Answer{addr, id, randomMap(t, r, "abcd", prefix)})
		}
		first := p.Choose()
		for range 4 {
			r.Shuffle(len(p.Answers), func(i, j int) { p.Answers[i], p.Answers[j] = p.Answers[j], p.Answers[i] })
			again := p.Choose()
			require.Equal(t, first.Done, again.Done, "seed %d", seed)
			require.True(t, first.Map == nil && again.Map == nil || sameOwners(first.Map, again.Map), "seed %d: %s, %s", seed, owners(first.Map), owners(again.Map))
		}
		if first.Map == nil {
			continue
		}
		strange := strings.Contains(owners(first.Map), "new-")
		require.False(t, strange && strings.Contains(owners(first.Map), "id-"), "seed %d: %s", seed, owners(first.Map))
		eachRun([]*Map{p.Use, first.Map}, func(slot, _ int, rows []*Range) {
			require.True(t, strange || rows[0] == nil || rows[1] != nil, "seed %d: slot %d is lost", seed, slot)
		})
	}
}

// randomMap gives the first slot to the first node, and runs of others to some of the nodes, or to none.
func randomMap(t *testing.T, r *rand.Rand, nodes, prefix string) *Map {
	claims := []string{fmt.Sprintf("%s%c 0-0 %d", prefix, nodes[0], 1+r.IntN(4))}
	for slot := 1; slot < Count; {
		end := min(slot+r.IntN(6000), Count-1)
		if i := r.IntN(len(nodes) + 1); i < len(nodes) {
			claims = append(claims, fmt.Sprintf("%s%c %d-%d %d", prefix, nodes[i], slot, end, 1+r.IntN(4)))
		}
		slot = end + 1
	}
	return told(t, claims...)
}

// TestNamed: a node keeps the name by which it is in use while it works there.
func TestNamed(t *testing.T) {
	t.Parallel()
	at := func(pairs ...string) *Map { // name and ID, each with a slot
		var ranges []Range
		for i := 0; i < len(pairs); i += 2 {
			ranges = append(ranges, Range{First: uint16(i), Last: uint16(i), Nodes: []NodeAddr{{Addr: pairs[i], ID: pairs[i+1]}}})
		}
		return NewMap(ranges, nil, "")
	}
	for name, test := range map[string]struct {
		use, said *Map
		works     string
		want      string // of the first node
		alias     string
	}{
		"the same name":              {at("a", "1"), at("a", "1"), "a", "a", ""},
		"another one":                {at("a", "1"), at("n", "1"), "a", "a", "n"},
		"it does not work":           {at("a", "1"), at("n", "1"), "", "n", ""},
		"several have the new name":  {at("a", "1", "b", "2"), at("n", "1", "n", "2"), "a b", "a", ""},
		"several have the old name":  {at("a", "1", "a", "2"), at("n", "1", "a", "2"), "a", "n", ""},
		"another node has it now":    {at("a", "1", "b", "2"), at("b", "1", "a", "2"), "a b", "b", ""},
		"it tells no ID":             {at("a", ""), at("n", ""), "a", "n", ""},
		"the node is not in the map": {at("a", "1"), at("n", "2"), "a", "n", ""},
	} {
		m := test.said.Named(test.use, func(addr string) bool { return strings.Contains(test.works, addr) })
		require.Equal(t, test.want, m.Addr(), name)
		if test.alias != "" {
			require.Equal(t, test.want, m.InUse(test.alias), name)
		} else {
			require.Empty(t, m.aliases, name)
		}
	}
	m := at("a", "1")
	require.Same(t, m, m.Named(nil, nil))
	require.Equal(t, "x", (*Map)(nil).InUse("x"))
}

func BenchmarkChoose(b *testing.B) {
	p := Poll{Use: told(b, thirds...), Answers: []Answer{{"a:1", "id-a", told(b, thirds...)}}}
	for b.Loop() {
		if !p.Choose().Done {
			b.Fatal("asks on")
		}
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
