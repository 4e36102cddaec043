package attempt

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNext plays what befalls one command. The window is 1 s.
func TestNext(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	refused := func(ms int) Failure { return Failure{At: at(ms), Site: AtNode("a")} }
	since := func(f Failure, ms int) Failure { f.Since = at(ms); return f }
	lost := func(f Failure) Failure { f.Lost = true; return f }
	read := func(f Failure) Failure { f.Lost, f.Repeatable = true, true; return f }
	due := func(f Failure) Failure { f.Due = true; return f }
	final := func(f Failure) Failure { f.Final = true; return f }
	replica := func(f Failure) Failure { f.Replica = true; return f }
	elsewhere := func(f Failure) Failure { f.Site = AtNode("b"); return f }
	type failures []Failure
	for name, c := range map[string]struct {
		met   failures
		want  Step
		alone bool
	}{
		"the first failure":                         {failures{refused(0)}, Retry, false},
		"within the window":                         {failures{refused(0), refused(999)}, Retry, false},
		"the window is over":                        {failures{refused(0), refused(1000)}, Stands, false},
		"no other node begins it again":             {failures{refused(0), elsewhere(refused(1000))}, Stands, false},
		"the node has refused for half of it":       {failures{since(refused(0), -500)}, Retry, false},
		"the node has refused for longer than it":   {failures{since(refused(0), -1000)}, Stands, false},
		"another call has met it later":             {failures{since(refused(0), 1)}, Retry, false},
		"another try is of no use":                  {failures{final(refused(0))}, Stands, false},
		"a write was lost":                          {failures{lost(refused(0))}, Ran, false},
		"a read was lost with others":               {failures{read(refused(0))}, Retry, false},
		"twice":                                     {failures{read(refused(0)), read(refused(1))}, Retry, true},
		"a read was lost that was next":             {failures{due(read(refused(0)))}, Retry, true},
		"it is lost alone":                          {failures{due(read(refused(0))), read(refused(1))}, Ran, true},
		"it is refused alone, and then lost":        {failures{due(read(refused(0))), refused(1), read(refused(2))}, Ran, true},
		"a read's reply is beyond the limit":        {failures{final(due(read(refused(0))))}, Ran, false},
		"a read was lost after the window":          {failures{refused(0), read(refused(1000))}, Ran, false},
		"a replica refuses":                         {failures{replica(refused(0))}, OtherReplica, false},
		"a replica has refused for long":            {failures{replica(since(refused(0), -5000))}, OtherReplica, false},
		"a replica loses a read":                    {failures{replica(due(read(refused(0))))}, OtherReplica, true},
		"a replica loses a read that travels alone": {failures{replica(due(read(refused(0)))), replica(read(refused(1)))}, Ran, true},
	} {
		var h History
		var got Step
		for _, f := range c.met {
			got = h.Next(f, time.Second)
		}
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.alone, h.Alone, name)
	}
}

// TestWindows of clients that do not retry, or retry without an end.
func TestWindows(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, since := range []time.Time{{}, now.Add(-time.Hour), now.Add(time.Millisecond)} {
		var h History
		require.Equal(t, Stands, h.Next(Failure{At: now, Since: since}, -1))
		h = History{}
		require.Equal(t, Retry, h.Next(Failure{At: now, Since: since}, Forever))
		require.Equal(t, Retry, h.Next(Failure{At: now.Add(1000 * time.Hour), Since: since}, Forever))
	}
}

// TestHistoryTells of the refusal that has lasted longest.
func TestHistoryTells(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var h History
	h.Next(Failure{At: now, Site: AtNode("dead"), Since: now.Add(-time.Second / 2)}, time.Second)
	h.Next(Failure{At: now.Add(time.Millisecond), Site: AtNode("heir")}, time.Second)
	require.Equal(t, AtNode("dead"), h.Site)
	require.Equal(t, now.Add(-time.Second/2), h.Since)
	require.Equal(t, 900*time.Millisecond, h.Left(now.Add(100*time.Millisecond), time.Second))
	h.Answered()
	require.Zero(t, h.Since)
}

// TestBackoff: full jitter, doubled for each try, bounded, and within what
// is left of the window.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 7, 8, 9, 22, 70} {
		for _, left := range []time.Duration{-time.Second, 0, time.Millisecond, 50 * time.Millisecond, Forever} {
			limit := min(minBackoff<<min(n-1, 20), MaxBackoff, max(left, minBackoff))
			longest := time.Duration(0)
			for range 200 {
				d := Backoff(n, left)
				if d <= 0 || d > limit {
					t.Fatalf("%v with a limit of %v", d, limit)
				}
				longest = max(longest, d)
			}
			require.Greater(t, longest, limit/2, "the jitter must use the whole range")
		}
	}
}
