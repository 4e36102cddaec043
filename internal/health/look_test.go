package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A moment is a look at a server with one connection, and what it must say.
type moment struct {
	at    int  // milliseconds since the beginning
	bytes bool // have arrived since the last look
	due   bool // a reply is

	answered          bool // a question, just before
	dialling, waiting bool // and there is no connection then
	usual             int  // milliseconds
	ask, stalled      bool
	state             State
}

// histories are all that may be concluded from the silence of a server.
var histories = map[string][]moment{
	"no reply is due": {{at: 0}, {at: 60_000}},
	"it is asked, suspect and stalled": {
		{at: 0, due: true}, {at: 499, due: true}, {at: 500, due: true, ask: true},
		{at: 999, due: true}, {at: 1000, due: true, ask: true, state: Suspect},
		{at: 1499, due: true, state: Suspect}, {at: 1500, due: true, ask: true, state: Suspect},
		{at: 2000, due: true, ask: true, state: Suspect}, {at: 2500, due: true, ask: true, state: Suspect}, {at: 2999, due: true, state: Suspect},
		{at: 3000, due: true, ask: true, stalled: true, state: Suspect},
	},
	"a silence begins when a reply is due": {{at: 0}, {at: 5000, due: true}, {at: 5499, due: true}, {at: 5500, due: true, ask: true}},
	"bytes end a silence": {
		{at: 0, due: true}, {at: 400, due: true, bytes: true}, {at: 899, due: true}, {at: 900, due: true, ask: true},
		{at: 1300, due: true, bytes: true}, {at: 1799, due: true},
	},
	"bytes end a suspicion": {
		{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 1000, due: true, ask: true, state: Suspect},
		{at: 1200, bytes: true}, {at: 1205, due: true}, {at: 1704, due: true}, {at: 1705, due: true, ask: true},
	},
	"an answer ends a suspicion": {
		{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 1000, due: true, ask: true, state: Suspect}, {at: 1200, due: true, answered: true},
	},
	"after each answer the silence may be twice as long, up to StallTimeout": {
		{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 600, due: true, answered: true},
		{at: 1599, due: true}, {at: 1600, due: true, ask: true}, {at: 1600, due: true, answered: true},
		{at: 3599, due: true}, {at: 3600, due: true, ask: true}, {at: 3600, due: true, answered: true},
		{at: 6599, due: true}, {at: 6600, due: true, ask: true}, {at: 7100, due: true, ask: true, state: Suspect},
		{at: 7105, due: true, state: Suspect, stalled: true},
	},
	"answers count for one silence": {
		{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 600, due: true, answered: true}, {at: 700, bytes: true},
		{at: 800, due: true}, {at: 1299, due: true}, {at: 1300, due: true, ask: true},
	},
	"what was silent has left":                                        {{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 700}, {at: 5000}, {at: 5005, due: true}, {at: 5504, due: true}},
	"a look that comes late makes nothing suspect that was not asked": {{at: 0, due: true}, {at: 60_000, due: true, ask: true}},
	"one that comes late has to look again before it closes anything": {
		{at: 0, due: true}, {at: 500, due: true, ask: true}, {at: 60_000, due: true, ask: true, state: Suspect}, {at: 60_005, bytes: true},
	},
	"eight usual reply times": {
		{at: 0, due: true, usual: 100}, {at: 799, due: true, usual: 100}, {at: 800, due: true, usual: 100, ask: true},
		{at: 1599, due: true, usual: 100}, {at: 1600, due: true, usual: 100, ask: true, state: Suspect},
	},
	"but no more than StallTimeout": {{at: 0, due: true, usual: 1000}, {at: 2999, due: true, usual: 1000}, {at: 3000, due: true, usual: 1000, ask: true}},
	"a dial that callers wait for": {
		{at: 0, dialling: true}, {at: 9000, dialling: true, waiting: true}, {at: 9499, dialling: true},
		{at: 9500, dialling: true, ask: true}, {at: 10_000, dialling: true, ask: true, state: Suspect},
	},
	"a dial that nobody waits for": {{at: 0, dialling: true}, {at: 60_000, dialling: true}},
}

func TestHistories(t *testing.T) {
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			s, c, progress := New(defaults), new(Conn), uint64(0)
			for _, m := range history {
				now := began.Add(time.Duration(m.at) * ms)
				if m.answered {
					s.Heard(now)
				}
				if m.bytes {
					progress++
				}
				look := s.Look(now)
				heard := look.See(c, Sight{Progress: progress, Due: m.due, Usual: time.Duration(m.usual) * ms})
				require.Equal(t, m.bytes, heard)
				require.Equal(t, Verdict{Ask: m.ask, Stalled: m.stalled}, look.Judge(m.dialling, m.waiting), "%+v", m)
				require.Equal(t, m.state, s.State(), "%+v", m)
				if s.State() == Suspect && s.heard.IsZero() && !m.dialling {
					require.Equal(t, began, s.Since(), "the trouble began when the silence did")
				}
			}
		})
	}
}

// TestSilenceOfOneConnection: a server that is heard on another connection is not silent.
func TestSilenceOfOneConnection(t *testing.T) {
	began := time.Now()
	s, dead, well := New(defaults), new(Conn), new(Conn)
	for at := time.Duration(0); at <= time.Minute; at += 100 * ms {
		look := s.Look(began.Add(at))
		look.See(dead, Sight{Due: true})
		look.See(well, Sight{Due: true, Progress: uint64(at)})
		require.Equal(t, Verdict{}, look.Judge(false, false))
		require.Equal(t, at >= 10*time.Second, s.Ends(dead), "after %v", at)
		require.False(t, s.Ends(well))
	}
}

// TestComparison is the one comparison of reply times.
func TestComparison(t *testing.T) {
	type conn struct {
		usual, waits time.Duration
		slow, asked  bool
	}
	for name, conns := range map[string][]conn{
		"alike":                            {{usual: 10 * ms}, {usual: 40 * ms}},
		"more than four times":             {{usual: 10 * ms}, {usual: 41 * ms, slow: true, asked: true}},
		"no more than 5 ms":                {{usual: ms / 10}, {usual: 5 * ms}},
		"more than 5 ms":                   {{usual: ms / 10}, {usual: 5*ms + 1, slow: true, asked: true}},
		"by the age of the oldest batch":   {{usual: ms}, {usual: ms, waits: 10 * ms, slow: true, asked: true}},
		"all of them":                      {{usual: ms, waits: 90 * ms}, {usual: ms, waits: 60 * ms}, {usual: 30 * ms}},
		"there is no other":                {{usual: ms, waits: time.Second}},
		"a new one has nothing to compare": {{usual: 30 * ms}, {asked: true}},
		"a new one is good":                {{usual: ms}, {}},
		"a new one that waits":             {{usual: ms}, {waits: 10 * ms, slow: true, asked: true}},
		"only new ones":                    {{waits: 100 * ms, asked: true}, {asked: true}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			s, watched := New(defaults), make([]Conn, len(conns))
			const longest = time.Second
			for at := time.Duration(0); at < longest; at += LookEvery {
				look := s.Look(began.Add(at))
				for i, c := range conns {
					look.See(&watched[i], Sight{Due: at >= longest-c.waits})
				}
			}
			look := s.Look(began.Add(longest))
			for i, c := range conns {
				look.See(&watched[i], Sight{Due: c.waits > 0, Usual: c.usual, Answered: answered(c.waits), Compared: true})
			}
			look.See(new(Conn), Sight{Usual: 1}) // not compared
			for i, c := range conns {
				require.Equal(t, c.slow, look.Compare(&watched[i]), "changed")
				require.Equal(t, c.slow, watched[i].Slow())
				require.Equal(t, c.asked, look.Asks(&watched[i]))
				require.False(t, look.Compare(&watched[i]), "no more")
			}
		})
	}
}

// answered returns how many batches were answered on a connection on which none has waited for long.
func answered(waits time.Duration) uint64 {
	if waits == 0 {
		return 1
	}
	return 0
}

// TestSilenceOfAll: a connection is slow only if the server answers on another one now. Until that is known, the
// others are asked.
func TestSilenceOfAll(t *testing.T) {
	s, c, other := New(defaults), new(Conn), new(Conn)
	now := time.Now()
	look := func(answers uint64) (slow, asks bool) {
		now = now.Add(LookEvery)
		l := s.Look(now)
		l.See(c, Sight{Due: true, Usual: ms, Compared: true})
		l.See(other, Sight{Due: true, Usual: ms / 10, Answered: answers, Compared: true})
		l.Compare(c)
		l.Compare(other)
		return c.Slow(), l.Asks(other)
	}
	for range 4 {
		look(0)
	}
	slow, asks := look(0)
	require.Equal(t, []bool{false, false}, []bool{slow, asks}, "both wait for as long")
	other.age = 0
	slow, asks = look(0)
	require.Equal(t, []bool{false, true}, []bool{slow, asks}, "it has answered nothing")
	slow, asks = look(1)
	require.Equal(t, []bool{true, false}, []bool{slow, asks})
}

// TestAge: the oldest batch has been in flight since the first look that saw it or the last reply. A pause
// of the process hardly counts.
func TestAge(t *testing.T) {
	now, s, c := time.Now(), New(defaults), new(Conn)
	for i, m := range []struct {
		pause    time.Duration // since the last look
		due      bool
		answered uint64
		age      time.Duration
	}{
		{0, false, 0, 0}, {ms, true, 0, 0}, {6 * ms, true, 0, 6 * ms}, {time.Hour, true, 0, 6*ms + WatchEvery}, {ms, true, 1, 0},
		{ms, true, 1, ms}, {ms, true, 3, 0}, {ms, false, 4, 0}, {time.Hour, true, 4, 0},
	} {
		now = now.Add(m.pause)
		look := s.Look(now)
		look.See(c, Sight{Due: m.due, Answered: m.answered, Usual: 1, Compared: true})
		require.Equal(t, max(m.age, 1), c.reply, "look %d", i)
	}
}

// TestReplaced: a connection that stays slow is to be replaced after StallTimeout, and closed 10 s later.
func TestReplaced(t *testing.T) {
	began := time.Now()
	s, good, slow := New(defaults), new(Conn), new(Conn)
	looks := uint64(0)
	look := func(at, usual time.Duration) {
		l := s.Look(began.Add(at))
		looks++
		l.See(good, Sight{Usual: ms, Answered: looks, Compared: true})
		l.See(slow, Sight{Usual: usual, Compared: true})
		l.Compare(good)
		l.Compare(slow)
	}
	for _, c := range []struct {
		at, usual      time.Duration
		replaced, ends bool
	}{
		{0, time.Second, false, false}, {2999 * ms, time.Second, false, false},
		{3000 * ms, ms, false, false}, // it is back
		{4 * time.Second, time.Second, false, false}, {6999 * ms, time.Second, false, false},
		{7 * time.Second, time.Second, true, false}, {17*time.Second - 1, time.Second, true, false}, {17 * time.Second, time.Second, true, true},
	} {
		look(c.at, c.usual)
		require.Equal(t, c.replaced, s.Replaces(slow), "after %v", c.at)
		require.Equal(t, c.ends, s.Ends(slow), "after %v", c.at)
		require.False(t, good.Slow() || s.Replaces(good) || s.Ends(good))
	}
}
