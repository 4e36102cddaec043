package slots

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChoose: which map is used, and why, when some servers have answered and some have
// not. The answers come in every order.
func TestChoose(t *testing.T) {
	t.Parallel()
	type said struct {
		by    string // as in told; "": it failed; withheld: it tells no map for now; heard: a and b have answered commands; before: what the refresh before has found
		slots []string
	}
	const failed, withheld, heard, before = "", "withheld", "heard", "before"
	oneSlot := []string{"a 0-0 1"}
	for name, test := range map[string]struct {
		use    []string
		taught []Lesson
		seeds  []string
		said   []said
		want   []string // nil: the map in use stays
		why    Why
	}{
		"one node claims one slot":                    {thirds, nil, nil, []said{{"a", oneSlot}, {"b", thirds}, {"c", thirds}}, thirds, Plain},
		"one node claims one slot, the others fail":   {thirds, nil, nil, []said{{"a", oneSlot}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"two nodes have lost a shard":                 {thirds, nil, nil, []said{{"b", thirds[1:]}, {"c", thirds[1:]}, {failed, nil}}, thirds[1:], TwoWitnesses},
		"a partitioned primary":                       {promoted, nil, nil, []said{{"a", thirds}, {"b", promoted}}, promoted, Plain},
		"a partitioned primary, the others fail":      {promoted, nil, nil, []said{{"a", thirds}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"a partitioned primary against MOVED":         {thirds, []Lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {"b", promoted}}, promoted, Plain},
		"the same, and nobody else answers":           {thirds, []Lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"a MOVED against a claim that was renewed":    {thirds, []Lesson{{5, "a2:1"}}, nil, []said{{"a", renewed}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"a MOVED that most primaries contradict":      {thirds, []Lesson{{5, "a2:1"}}, nil, []said{{"a", thirds}, {"b", thirds}, {failed, nil}}, thirds, Majority},
		"most primaries have gone back":               {promoted, nil, nil, []said{{"b", thirds}, {"c", thirds}, {failed, nil}}, thirds, Majority},
		"one server twice is one witness":             {thirds, nil, nil, []said{{"a", oneSlot}, {"a", oneSlot}, {failed, nil}}, nil, Nobody},
		"only one node can be reached":                {thirds, nil, nil, []said{{"a", promoted}, {failed, nil}, {failed, nil}}, promoted, Plain},
		"the only node has lost slots":                {[]string{"a 0-16383 1"}, nil, nil, []said{{"a", []string{"a 0-8000 1"}}}, []string{"a 0-8000 1"}, Majority},
		"all were made anew":                          {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {"new/c", anew}}, anew, MadeAnew},
		"most were made anew, one fails":              {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}}, nil, Nobody},
		"the same, once more":                         {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}, {before, anew}}, anew, MadeAnew},
		"the same, and b answers commands":            {thirds, nil, nil, []said{{"new/a", anew}, {"new/c", anew}, {failed, nil}, {heard, nil}, {before, anew}}, nil, Nobody},
		"the same, once more, of another cluster":     {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {failed, nil}, {before, promoted}}, nil, Nobody},
		"all were made anew, and keep connections":    {thirds, nil, nil, []said{{"new/a", anew}, {"new/b", anew}, {"new/c", anew}, {heard, nil}}, anew, MadeAnew},
		"one is another cluster's, the others fail":   {thirds, nil, nil, []said{{"new/a", anew}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"one is another cluster's":                    {thirds, nil, nil, []said{{"new/a", anew}, {"b", thirds}}, thirds, Plain},
		"made anew elsewhere, the seeds say":          {thirds, nil, []string{"x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, []string{"x 0-16383 1"}, MadeAnew},
		"replaced, one seed of three is alive":        {thirds, nil, []string{"dead:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, []string{"x 0-16383 1"}, MadeAnew},
		"the same, but for the first time":            {thirds, nil, []string{"dead:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {failed, nil}}, nil, Nobody},
		"the same, and another one may be ours":       {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {withheld, nil}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil, Nobody},
		"the same, and a node of ours answers":        {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"b", thirds}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, thirds, Plain},
		"the same, and ours answers with a loss":      {thirds, nil, []string{"b:1", "dead:2", "x:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"b", oneSlot}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil, Nobody},
		"replaced, and no seed says so":               {thirds, nil, []string{"dead:1"}, []said{{"x", []string{"x 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil, Nobody},
		"replaced by two clusters, each with a seed":  {thirds, nil, []string{"x:1", "y:1"}, []said{{"x", []string{"x 0-16383 1"}}, {"y", []string{"y 0-16383 1"}}, {failed, nil}, {before, []string{"x 0-16383 1"}}}, nil, Nobody},
		"several other clusters":                      {thirds, nil, nil, []said{{"new/a", []string{"new/a 0-16383 1"}}, {"new/b", []string{"new/b 0-16383 1"}}}, nil, Nobody},
		"nobody knows of some slots":                  {thirds[1:], nil, nil, []said{{"b", thirds[1:]}, {failed, nil}}, thirds[1:], NoWorse},
		"nobody knew of some slots, but one does":     {thirds[1:], nil, nil, []said{{"b", thirds[1:]}, {"c", thirds}}, thirds, Plain},
		"first contact with one slot, a seed has all": {nil, nil, nil, []said{{"a", oneSlot}, {"b", thirds}}, thirds, Plain},
		"first contact with one slot":                 {nil, nil, nil, []said{{"a", oneSlot}, {failed, nil}}, oneSlot, Fullest},
		"standalone at the first contact":             {nil, nil, nil, []said{{"single", nil}, {failed, nil}}, []string{"single"}, Fullest},
		"standalone seed of a cluster":                {nil, nil, nil, []said{{"single", nil}, {"b", thirds}}, thirds, Plain},
		"standalone later":                            {thirds, nil, []string{"single:1"}, []said{{"single", nil}, {failed, nil}}, nil, Nobody},
		"all standalone later":                        {thirds, nil, []string{"single:1"}, []said{{"single", nil}}, nil, Nobody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range len(test.said) {
				test.said = append(test.said[1:], test.said[0])
				p := Poll{Taught: test.taught, Seeds: test.seeds}
				if test.use != nil {
					p.Use = told(t, test.use...)
				}
				var got Choice
				for _, s := range test.said {
					switch prefix, host, found := strings.Cut(s.by, "/"); {
					case s.by == failed:
						p.Failed++
					case s.by == withheld:
						p.Failed, p.Withheld = p.Failed+1, p.Withheld+1
					case s.by == heard:
						p.Heard = []string{"a:1", "b:1"}
					case s.by == before:
						p.Before = told(t, s.slots...)
					case s.by == "single":
						p.Add("single:1", "", Single("single:1"))
					case found:
						p.Add(host+":1", prefix+"-"+host, told(t, s.slots...))
					default:
						p.Add(s.by+":1", "id-"+s.by, told(t, s.slots...))
					}
					if got = p.Choose(); got.Map != nil {
						break
					}
					require.Equal(t, NotYet, got.Why)
				}
				if got.Map == nil {
					p.All = true
					got = p.Choose()
				}
				require.Equal(t, test.why, got.Why)
				switch {
				case test.want == nil:
					require.Nil(t, got.Map)
				case slices.Equal(test.want, []string{"single"}):
					require.True(t, got.Map != nil && got.Map.Single)
				default:
					require.NotNil(t, got.Map)
					require.True(t, told(t, test.want...).agrees(got.Map), "%v", got.Map.Ranges)
				}
			}
		})
	}
}

// TestChooseWithoutCluster: another server takes the place of the one in use only if that
// does not answer.
func TestChooseWithoutCluster(t *testing.T) {
	t.Parallel()
	p := Poll{Use: Single("a:1"), Failed: 1}
	require.Equal(t, another, p.Add("b:1", "", Single("b:1")))
	require.Equal(t, NotYet, p.Choose().Why)
	p.All = true
	require.Equal(t, OnlyServer, p.Choose().Why)
	p.Stays = true
	require.Equal(t, Nobody, p.Choose().Why)
	require.Equal(t, NoFlaw, p.Add("a:1", "", Single("a:1")))
	require.Equal(t, Plain, p.Choose().Why)
	require.Equal(t, "a:1", p.Choose().Map.Claims[0].Addr)
}

// TestChooseAReplica: without cluster mode, the replica in use is replaced by a primary that answers,
// or by another replica if it does not answer itself. A client of one replica alone, or of
// replicas alone, had no refresh that succeeded.
func TestChooseAReplica(t *testing.T) {
	t.Parallel()
	follower := func(addr string) *Map {
		m := Single(addr)
		m.Follows = true
		return m
	}
	p := Poll{Use: follower("a:1"), All: true}
	require.Equal(t, replica, p.Add("b:1", "", follower("b:1")))
	require.Equal(t, Choice{Map: p.Votes[0].Map, Why: OnlyServer}, p.Choose(), "a does not answer")
	require.Equal(t, asBefore, p.Add("a:1", "", follower("a:1")))
	require.Equal(t, Choice{Map: p.Votes[1].Map, Why: StillReplica}, p.Choose())
	require.Equal(t, another, p.Add("c:1", "", Single("c:1")))
	require.Equal(t, Choice{Map: p.Votes[2].Map, Why: OnlyServer}, p.Choose())
	require.Equal(t, NoFlaw, p.Add("a:1", "", Single("a:1")))
	require.Equal(t, Choice{Map: p.Votes[3].Map, Why: Plain}, p.Choose(), "it was promoted")

	p = Poll{Use: Single("a:1"), All: true}
	require.Equal(t, replica, p.Add("a:1", "", follower("a:1")))
	require.Equal(t, Nobody, p.Choose().Why, "a primary that became a replica")
	p.Stays = true
	require.Equal(t, another, p.Add("b:1", "", Single("b:1")))
	require.Equal(t, Choice{Map: p.Votes[1].Map, Why: OnlyServer}, p.Choose(), "and another primary")
}

// FuzzChoose: whatever was said, a map is chosen that was said, and one without
// a doubt if there is one.
func FuzzChoose(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 2, 5, 1})
	f.Fuzz(func(t *testing.T, choices []byte) {
		maps := [][]string{thirds, promoted, anew, thirds[1:], {"a 0-0 1"}, {"c 0-16383 7"}}
		p := Poll{Use: told(t, thirds...), Seeds: []string{"a:1"}}
		plain := false
		for i := 0; i+1 < len(choices) && i < 12; i += 2 {
			host := string(rune('a' + choices[i]%5))
			v := told(t, maps[int(choices[i+1])%len(maps)]...)
			plain = p.Add(host+":1", "id-"+host, v) == NoFlaw || plain
		}
		p.Failed = len(choices) % 3
		p.All = true
		got := p.Choose().Map
		said := slices.ContainsFunc(p.Votes, func(v Vote) bool { return v.Map == got })
		if got != nil && !said || plain && got == nil {
			t.Fatalf("%v of %d votes", got, len(p.Votes))
		}
	})
}

// TestPollOfSentinels: one that knows of a failover is believed at once, one that
// does not only together with most of the others.
func TestPollOfSentinels(t *testing.T) {
	t.Parallel()
	said := func(text string) *Map {
		var addr string
		var epoch uint64
		_, err := fmt.Sscanf(text, "%s %d", &addr, &epoch)
		require.NoError(t, err)
		reply := SentinelReply{Primary: Instance{Addr: addr, Epoch: epoch}}
		for i, id := range strings.Fields(text)[2:] {
			if i == 0 {
				reply.ID = id
			} else {
				reply.Sentinels = append(reply.Sentinels, Instance{Addr: "s:" + id, id: id})
			}
		}
		return reply.Map("s:1")
	}
	for name, test := range map[string]struct {
		use    string // address and config epoch, and the IDs of the Sentinel and of those it knows
		said   string // the same, by each Sentinel; "-" is none
		want   string // "" keeps the one in use
		doubts string
	}{
		"first contact":          {"", "a:1 1", "a:1", "0"},
		"the same":               {"a:1 1", "a:1 1", "a:1", "0"},
		"the same, newer":        {"a:1 1", "a:1 2", "a:1", "0"},
		"failover":               {"a:1 1", "b:1 2", "b:1", "0"},
		"before the failover":    {"b:1 2", "a:1 1,-,-", "", "1"},
		"one of three":           {"b:1 2", "a:1 1,-,b:1 2", "b:1", "10"},
		"two of three":           {"b:1 2", "a:1 1,a:1 1,-", "a:1", "11"},
		"the same epoch":         {"b:1 2", "a:1 2,-,-", "", "1"},
		"monitored anew, by all": {"b:1 9", "a:1 0,a:1 0,a:1 0", "a:1", "111"},
		"cut off":                {"b:1 2 x y z", "a:1 1 z y x,-,-", "", "1"},
		"other Sentinels":        {"b:1 2 x y z", "a:1 0 v w", "a:1", "1"},
		"beside one of ours":     {"b:1 2 x y z", "a:1 0 v w,b:1 2 x y z", "b:1", "10"},
		"beside dead seeds":      {"b:1 2 x y z", "a:1 0 v w,-", "", "1"}, // it takes two refreshes
		"other IDs, newer":       {"b:1 2 x y z", "a:1 3 v w,-", "a:1", "0"},
		"they tell no IDs":       {"b:1 2 x y z", "a:1 0,-", "", "1"},
	} {
		p := Poll{Seeds: []string{"s:0"}, Heard: []string{"b:1"}} // a primary that was demoted answers, too
		if test.use != "" {
			p.Use = said(test.use)
		}
		doubts := ""
		for i, text := range strings.Split(test.said, ",") {
			if text == "-" {
				p.Failed++
				continue
			}
			if p.Add(fmt.Sprint("s:", i), "", said(text)) == NoFlaw {
				doubts += "0"
			} else {
				doubts += "1"
			}
		}
		got := ""
		p.All = true
		if c := p.Choose(); c.Map != nil {
			got = c.Map.Claims[0].Addr
		}
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.doubts, doubts, name)
	}
}
