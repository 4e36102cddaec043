package counter_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit/internal/counter"
)

// A model is a key of several processes, each with a last word of its own. Rounds of their takes
// run in any order, between them what others do to the key.
type model struct {
	t       *testing.T
	r       *rig
	rand    *rand.Rand
	base    counter.Take
	procs   [4]proc
	servers [2]*counter.Server

	granted int64 // net, since the key was last set by others
	others  bool  // have set the key while takes were under way, or below 0
	endless bool  // others have left the key without a time to live
}

type proc struct {
	take            counter.Take
	rounds          int     // of the take under way
	totals, befores []int64 // after each
}

// TestModel: no take is granted beyond the bound or denied below it; the key has the hits that were granted,
// and an end.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds := 16
	if testing.Short() {
		seeds = 6
	}
	onServers(t, func(t *testing.T, r *rig) { runModel(t, r, seeds) })
}

func runModel(t *testing.T, r *rig, seeds int) {
	t.Helper()
	for seed := range seeds {
		m := &model{t: t, r: r, rand: rand.New(rand.NewPCG(uint64(seed), 61)), servers: [2]*counter.Server{{}, {}}}
		bound := 1 + m.rand.Int64N(100)
		if m.base = fixed("k", 1, bound); seed%2 == 1 {
			m.base = sliding("k", 1, bound)
		}
		m.clear()
		for i := range m.procs {
			m.procs[i].take = m.base
		}
		for range 150 {
			if m.rand.IntN(12) == 0 {
				m.disturb()
			}
			m.step(m.rand.IntN(len(m.procs)))
			if m.rand.IntN(3) == 0 {
				m.settle()
			}
		}
	}
}

func (m *model) clear() {
	m.r.cmd("DEL", "k")
	m.r.cmd("DEL", "{k}before")
}

// disturb does what others may do.
func (m *model) disturb() {
	sets, value := true, m.rand.Int64N(m.base.Bound+10)
	switch m.rand.IntN(9) {
	case 0:
		m.r.cmd("DEL", "k")
		value, m.endless = 0, false
	case 1:
		m.r.cmd("SET", "k", value, "EX", 100)
		m.endless = false
	case 2:
		m.r.cmd("SET", "k", value)
		m.endless = true
	case 3:
		value = -value
		m.r.cmd("SET", "k", value, "EX", 100)
		m.endless = false
	case 4:
		value += 1<<62 + 1<<50
		m.r.cmd("SET", "k", value, "EX", 100)
		m.endless = false
	case 5:
		m.r.cmd("PERSIST", "k")
		sets, m.endless = false, true
	case 6:
		m.r.cmd("EXPIRE", "k", 100)
		sets, m.endless = false, false
	case 7: // late hits
		m.r.cmd("INCRBY", "{k}before", m.rand.Int64N(9))
		sets = false
	default:
		m.r.cmd("SET", "{k}before", m.rand.Int64N(2*m.base.Bound))
		sets = false
	}
	if sets {
		m.granted, m.others = value, m.others || value < 0 || m.busy()
	}
}

func (m *model) busy() bool {
	for _, p := range m.procs {
		if p.rounds > 0 {
			return true
		}
	}
	return false
}

// step runs a round of a process.
func (m *model) step(i int) {
	p := &m.procs[i]
	take := &p.take
	if p.rounds == 0 {
		take.N = m.rand.Int64N(5)
		switch m.rand.IntN(12) {
		case 0:
			take.N = m.rand.Int64N(m.base.Bound + 5)
		case 1:
			take.N = -take.N
		case 2:
			take.Known = false
		}
		if take.Before != "" {
			take.Window.Elapsed = time.Duration(m.rand.Int64N(int64(take.Window.Length) + 1))
		}
	}
	if p.rounds++; p.rounds == 1 {
		p.totals, p.befores = nil, nil
	}
	knew := take.Known
	if m.rand.IntN(30) == 0 && p.rounds == 1 {
		m.lose(p, i)
		return
	}
	again := m.r.round(m.servers[i%2], take)
	p.totals = append(p.totals, total(m.r.get("k")))
	p.befores = append(p.befores, m.r.get("{k}before"))
	if again {
		require.Less(m.t, p.rounds, 9)
		return
	}
	m.check(p)
	if take.Applied && take.N > 0 && !knew {
		require.NotEqual(m.t, int64(-1), m.r.ttl("k"))
		m.endless = false
	}
	p.rounds = 0
}

// lose runs the first round of a take whose replies get lost.
func (m *model) lose(p *proc, i int) {
	before, lost := m.r.get("k"), p.take
	m.r.round(m.servers[i%2], &lost)
	m.granted += m.r.get("k") - before
	m.endless = m.endless || m.r.ttl("k") == -1
	p.take.Known, p.rounds = false, 0
}

// total returns what a value counts as.
func total(value int64) int64 { return min(max(0, value), 1<<62) }

// check compares an outcome with what the server had after one of its rounds.
func (m *model) check(p *proc) {
	take := &p.take
	share := int64(float64(take.UsedBefore) * (float64(take.Window.Left()) / float64(max(1, take.Window.Length)))) // exact for small numbers
	require.NoError(m.t, take.Err)
	if take.Before != "" && take.N >= 0 {
		require.Contains(m.t, p.befores, take.UsedBefore)
	}
	if !take.Applied || take.N <= 0 {
		require.Contains(m.t, p.totals, take.Used)
	}
	switch {
	case take.Applied && take.N > 0:
		require.True(m.t, take.Used == take.N || slices.Contains(p.totals, take.Used))
		require.LessOrEqual(m.t, take.Used+share, m.base.Bound)
		m.granted += take.N
	case take.Applied:
		m.granted += take.N
	case take.N > 0:
		require.True(m.t, take.N > m.base.Bound-take.Used-share || p.rounds > 3, "%d fit beside %d and %d", take.N, take.Used, share)
	}
}

// settle ends all takes, and looks at the key.
func (m *model) settle() {
	for i := range m.procs {
		for m.procs[i].rounds > 0 {
			m.step(i)
		}
	}
	value := m.r.get("k")
	if m.others {
		m.granted, m.others = value, value < 0
	}
	require.Equal(m.t, m.granted, value)
	switch ttl := m.r.ttl("k"); {
	case ttl != -1:
		m.endless = false
	default:
		require.True(m.t, m.endless, "a key without an end")
	}
}
