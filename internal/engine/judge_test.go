package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told makes a view of claims "node slots epoch", such as "a 0-9 3". The node a
// has the ID id-a and the address a:1; "old/a" has the ID old-a and the same
// address.
func told(t testing.TB, claims ...string) *view {
	t.Helper()
	var ranges []slotRange
	n := nodesTold{epochs: make(map[string]uint64)}
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
		ranges = append(ranges, slotRange{first, last, []nodeAddr{{addr: host + ":1", id: id}}})
		if epoch > 0 {
			n.epochs[id] = epoch
		}
	}
	return newView(ranges, n)
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
		taught []lesson
		said   []string
		want   doubt
	}{
		"first contact":                      {nil, nil, thirds, noDoubt},
		"first contact, one slot":            {nil, nil, []string{"a 0-0 1"}, holes},
		"the same":                           {thirds, nil, thirds, noDoubt},
		"failover":                           {thirds, nil, promoted, noDoubt},
		"from before the failover":           {promoted, nil, thirds, older},
		"epochs are not told":                {thirds, nil, []string{"a2 0-5460 0", "b 5461-10922 0", "c 10923-16383 0"}, noDoubt},
		"one slot":                           {thirds, nil, []string{"a 0-0 1"}, lost},
		"one slot, newer":                    {thirds, nil, []string{"a 0-0 9"}, lost},
		"a shard is lost":                    {thirds, nil, thirds[1:], lost},
		"a slot that nobody had is still so": {thirds[1:], nil, thirds[1:], holes},
		"scaled in to one node":              {thirds, nil, []string{"c 0-16383 7"}, noDoubt},
		"a node has joined":                  {thirds, nil, []string{"a 0-5460 1", "d 5461-10922 4", "c 10923-16383 3"}, noDoubt},
		"made anew":                          {thirds, nil, anew, foreign},
		"another cluster":                    {thirds, nil, []string{"x 0-8000 1", "y 8001-16383 2"}, foreign},
		"what MOVED has said":                {thirds, []lesson{{5, "a2:1"}}, promoted, noDoubt},
		"not yet what MOVED has said":        {thirds, []lesson{{5, "a2:1"}}, thirds, contrary},
		"newer than what MOVED has said":     {thirds, []lesson{{5, "a2:1"}}, []string{"a3 0-5460 6", "b 5461-10922 2", "c 10923-16383 3"}, noDoubt},
		"MOVED, but the epoch is unknown":    {thirds, []lesson{{5, "a2:1"}}, []string{"a3 0-5460 0", "b 5461-10922 2", "c 10923-16383 3"}, contrary},
		"older and with a loss":              {promoted, nil, []string{"a 0-5460 1", "b 5461-10921 2", "c 10923-16383 3"}, older},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var use *view
			if test.use != nil {
				use = told(t, test.use...)
			}
			assert.Equal(t, test.want.String(), judge(use, test.taught, told(t, test.said...)).String())
		})
	}
	single := singleView("s:1")
	assert.Equal(t, alone, judge(nil, nil, single))
	assert.Equal(t, alone, judge(told(t, thirds...), nil, single))
	assert.Equal(t, noDoubt, judge(single, nil, singleView("s:1")))
	assert.Equal(t, another, judge(single, nil, singleView("t:1")), "with other data")
	assert.Equal(t, noDoubt, judge(single, nil, told(t, thirds...)), "a server that has become a cluster's")
}

// TestPoll: which map is used when some servers have answered and some have
// not. The answers come in every order.
func TestPoll(t *testing.T) {
	t.Parallel()
	type said struct {
		by    string // as in told; "": it failed; withheld: it tells no map for now; before: what the refresh before has found
		slots []string
	}
	const failed, withheld, before = "", "withheld", "before"
	oneSlot := []string{"a 0-0 1"}
	for name, test := range map[string]struct {
		use    []string
		taught []lesson
		seeds  []string
		said   []said
		want   []string // nil: the map in use stays
	}{
		"one node claims one slot":                    {thirds, nil, nil, []said{{"a", oneSlot}, {"b", thirds}, {"c", thirds}}, thirds},
		"one node claims one slot, the others fail":   {thirds, nil, nil, []said{{"a", oneSlot}, {failed, nil}, {failed, nil}}, nil},
		"two nodes have lost a shard":                 {thirds, nil, nil, []said{{"b", thirds[1:]}, {"c", thirds[1:]}, {failed, nil}}, thirds[1:]},
		"a partitioned primary":                       {promoted, nil, nil, []said{{"a", thirds}, {"b", promoted}}, promoted},
		"a partitioned primary, the others fail":      {promoted, nil, nil, []said{{"a", thirds}, {failed, nil}, {failed, nil}}, nil},
		"a partitioned primary against MOVED":         {thirds, []lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {"b", promoted}}, promoted},
		"the same, and nobody else answers":           {thirds, []lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {failed, nil}, {failed, nil}}, nil},
		"a MOVED against a claim that was renewed":    {thirds, []lesson{{5, "a2:1"}}, nil, []said{{"a", renewed}, {failed, nil}, {failed, nil}}, nil},
		"a MOVED that most primaries contradict":      {thirds, []lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {"b", thirds}, {failed, nil}}, thirds},
		"most primaries have gone back":               {promoted, nil, nil, []said{{"b", thirds}, {"c", thirds}, {failed, nil}}, thirds},
		"one server twice is one witness":             {thirds, nil, nil, []said{{"a", oneSlot}, {"a", oneSlot}, {failed, nil}}, nil},
		"only one node can be reached":                {thirds, nil, nil, []said{{"a", promoted}, {failed, nil}, {failed, nil}}, promoted},
		"the only node has lost slots":                {[]string{"a 0-16383 1"}, nil, nil, []said{{"a", []string{"a 0-8000 1"}}}, []string{"a 0-8000 1"}},
		"all were made anew":                          {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {"new/c", anew}}, anew},
		"most were made anew, one fails":              {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}}, nil},
		"the same, once more":                         {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}, {before, anew}}, anew},
		"the same, once more, of another cluster":     {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}, {before, promoted}}, nil},
		"one is another cluster's, the others fail":   {thirds, nil, nil, []said{{"new/a", anew}, {failed, nil}, {failed, nil}}, nil},
		"one is another cluster's":                    {thirds, nil, nil, []said{{"new/a", anew}, {"b", thirds}}, thirds},
		"made anew elsewhere, the seeds say":          {thirds, nil, []string{"x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, []string{"x 0-16383 1"}},
		"replaced, one seed of three is alive":        {thirds, nil, []string{"dead:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, []string{"x 0-16383 1"}},
		"the same, but for the first time":            {thirds, nil, []string{"dead:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {failed, nil}}, nil},
		"the same, and another one may be ours":       {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {withheld, nil}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil},
		"the same, and a node of ours answers":        {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"b", thirds}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, thirds},
		"the same, and ours answers with a loss":      {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"b", oneSlot}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil},
		"replaced, and no seed says so":               {thirds, nil, []string{"dead:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil},
		"replaced by two clusters, each with a seed":  {thirds, nil, []string{"x:1", "y:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"y", []string{"y 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil},
		"several other clusters":                      {thirds, nil, nil, []said{{"new/a", []string{"new/a 0-16383 1"}}, {"new/b", []string{"new/b 0-16383 1"}}}, nil},
		"nobody knows of some slots":                  {thirds[1:], nil, nil, []said{{"b", thirds[1:]}, {failed, nil}}, thirds[1:]},
		"nobody knew of some slots, but one does":     {thirds[1:], nil, nil, []said{{"b", thirds[1:]}, {"c", thirds}}, thirds},
		"first contact with one slot, a seed has all": {nil, nil, nil, []said{{"a", oneSlot}, {"b", thirds}}, thirds},
		"first contact with one slot":                 {nil, nil, nil, []said{{"a", oneSlot}, {failed, nil}}, oneSlot},
		"standalone at the first contact":             {nil, nil, nil, []said{{"single", nil}, {failed, nil}}, []string{"single"}},
		"standalone seed of a cluster":                {nil, nil, nil, []said{{"single", nil}, {"b", thirds}}, thirds},
		"standalone later":                            {thirds, nil, []string{"single:1"}, []said{{"single", nil}, {failed, nil}}, nil},
		"all standalone later":                        {thirds, nil, []string{"single:1"}, []said{{"single", nil}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range len(test.said) {
				test.said = append(test.said[1:], test.said[0])
				p := poll{taught: test.taught, seeds: test.seeds}
				if test.use != nil {
					p.use = told(t, test.use...)
				}
				var got *view
				for _, s := range test.said {
					switch prefix, host, found := strings.Cut(s.by, "/"); {
					case s.by == failed:
						p.failed++
					case s.by == withheld:
						p.failed, p.withheld = p.failed+1, p.withheld+1
					case s.by == before:
						p.before = told(t, s.slots...)
					case s.by == "single":
						p.add("single:1", "", singleView("single:1"))
					case found:
						p.add(host+":1", prefix+"-"+host, told(t, s.slots...))
					default:
						p.add(s.by+":1", "id-"+s.by, told(t, s.slots...))
					}
					if got = p.early(); got != nil {
						break
					}
				}
				if got == nil {
					got = p.final()
				}
				switch {
				case test.want == nil:
					require.Nil(t, got)
				case slices.Equal(test.want, []string{"single"}):
					require.True(t, got != nil && got.single)
				default:
					require.NotNil(t, got)
					require.True(t, told(t, test.want...).agrees(got), "%v", got.ranges)
				}
			}
		})
	}
}

func TestParseNodes(t *testing.T) {
	t.Parallel()
	const text = "b9 10.0.0.2:7000@17000,h.example slave a1 0 1 7 connected\n" +
		"a1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-5460 [93-<-c3]\n" +
		"c3 :0@0 master,fail,noaddr - 1 1 3 disconnected 5461-16383\n"
	want := nodesTold{self: "a1", epochs: map[string]uint64{"a1": 7, "b9": 7, "c3": 3}}
	for _, reply := range []string{
		fmt.Sprintf("$%d\r\n%s\r\n", len(text), text),
		fmt.Sprintf("=%d\r\ntxt:%s\r\n", len(text)+4, text),
	} {
		got, err := parseNodes([]byte(reply))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, reply := range []string{
		"", "$-1\r\n", "_\r\n", ":1\r\n", "*0\r\n", "-ERR no\r\n", "$3\r\na b\r\nx", "=2\r\nab\r\n",
	} {
		_, err := parseNodes([]byte(reply))
		assert.ErrorContains(t, err, "CLUSTER NODES", "%q", reply)
	}
}

// TestOddLineCostsItself: the lines before and behind it are used.
func TestOddLineCostsItself(t *testing.T) {
	t.Parallel()
	const line = "a1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-16383\n"
	for _, odd := range []string{"abc\n", "a b c d e f -1 h\n", "a b c d e f g h\n"} {
		got, err := parseNodes([]byte(bulkOf(odd + line + odd)))
		require.NoError(t, err, odd)
		require.Len(t, got.skips, 2, odd)
		got.skips = nil
		require.Equal(t, nodesTold{self: "a1", epochs: map[string]uint64{"a1": 7}}, got, odd)
	}
	_, err := parseNodes([]byte(bulkOf(strings.Repeat(line, maxNodes+1))))
	require.ErrorContains(t, err, "lines")
}

func bulkOf(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func FuzzParseNodes(f *testing.F) {
	f.Add([]byte("$52\r\na1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected\r\n"))
	f.Add([]byte("=12\r\ntxt:a b c d\n\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		told, err := parseNodes(reply)
		if err == nil && len(told.epochs) > len(reply)/16 {
			t.Fatalf("%d nodes in %d bytes", len(told.epochs), len(reply))
		}
	})
}

// FuzzJudge: whatever was said, a map is chosen that was said, and one without
// a doubt if there is one.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 2, 5, 1})
	f.Fuzz(func(t *testing.T, choices []byte) {
		views := [][]string{thirds, promoted, anew, thirds[1:], {"a 0-0 1"}, {"c 0-16383 7"}}
		p := poll{use: told(t, thirds...), seeds: []string{"a:1"}}
		plain := false
		for i := 0; i+1 < len(choices) && i < 12; i += 2 {
			host := string(rune('a' + choices[i]%5))
			v := told(t, views[int(choices[i+1])%len(views)]...)
			plain = p.add(host+":1", "id-"+host, v) == noDoubt || plain
		}
		p.failed = len(choices) % 3
		got := p.final()
		said := slices.ContainsFunc(p.votes, func(v vote) bool { return v.view == got })
		if got != nil && !said || plain && got == nil {
			t.Fatalf("%v of %d votes", got, len(p.votes))
		}
	})
}

// Whether a slot is as the one before it is asked of both maps: the result is
// that of looking at each slot by itself.
func TestJudgeLooksAtEachSlot(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "new/b", "c"}
	random := func(r *rand.Rand) *view {
		var claims []string
		for slot := 0; slot < SlotCount; {
			end := min(slot+r.IntN(4000), SlotCount-1)
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
		want := noDoubt
		for slot := range said.owner {
			want = max(want, judgeSlot(use, said, slot))
		}
		require.Equal(t, want, judgeSlots(use, nil, said), "seed %d", seed)

		top := newTopology(use, nodesByAddr()).withOwners([]move{{uint16(r.IntN(SlotCount)), &node{addr: "d:1"}}, {uint16(r.IntN(SlotCount)), &node{addr: "e:1"}}})
		var lessons []lesson
		for slot := range top.owner {
			if n := top.primary(int32(slot)); n != nil {
				if c, ok := use.claimOf(slot); !ok || c.addr != n.addr {
					lessons = append(lessons, lesson{uint16(slot), n.addr})
				}
			}
		}
		require.Equal(t, lessons, top.taught(), "seed %d", seed)
	}
}

// nodesByAddr returns a function that makes one node for each address.
func nodesByAddr() func(addr string) *node {
	nodes := make(map[string]*node)
	return func(addr string) *node {
		if nodes[addr] == nil {
			nodes[addr] = &node{addr: addr}
		}
		return nodes[addr]
	}
}

func BenchmarkJudge(b *testing.B) {
	use, said := told(b, thirds...), told(b, thirds...)
	top := newTopology(use, nodesByAddr())
	for b.Loop() {
		if judge(use, top.taught(), said) != noDoubt {
			b.Fatal("doubted")
		}
	}
}
