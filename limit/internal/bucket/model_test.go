package bucket

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A grant is tokens that were used.
type grant struct {
	at   int64 // microseconds that have passed, however the server's clock was set
	n    int64
	free bool // a charge
}

// A holder has tokens that it may give back, or, of a lease, use.
type holder struct {
	draw  *Draw
	grant int     // what it has counted as used
	left  int64   // of a lease
	until []int64 // of a lease: when each of its tokens is to be used
}

// A history is random draws from one bucket.
type history struct {
	*server
	random  *rand.Rand
	key     string
	rules   []*Rule
	charges bool
	leases  bool
	passed  int64
	grants  []grant
	held    []holder
	leased  []holder
}

func (h *history) rule() *Rule {
	if len(h.rules) > 1 {
		return h.rules[h.random.IntN(len(h.rules))]
	}
	return h.rules[0]
}

// step draws, uses or gives back something.
func (h *history) step() {
	per := h.rules[0].Flow(1).Microseconds()
	gap := []int64{0, h.random.Int64N(per + 1), h.random.Int64N(per*h.rules[0].Burst/2 + 1)}[h.random.IntN(3)]
	if h.random.IntN(20) == 0 {
		gap = per * h.rules[0].Burst // it is full
	}
	h.passed, h.now = h.passed+gap, h.now+gap
	if h.random.IntN(40) == 0 {
		h.now -= h.random.Int64N(20 * per)
	}
	rule := h.rule()
	cost := 1 + h.random.Int64N(rule.Burst*2/3+1)
	d := Draw{Key: h.key, Rule: rule, Cost: cost}
	switch what := h.random.IntN(10); {
	case what == 0:
		d.Mode = Look
		h.draw(d)
	case what == 1 && h.charges:
		d.Mode = Charge
		h.draw(d)
		h.grants = append(h.grants, grant{h.passed, cost, true})
	case what == 2 && h.leases:
		h.lease(d)
	case what < 5 && len(h.held) > 0:
		h.giveBack()
	case what < 7 && len(h.leased) > 0:
		h.use()
	case what == 7:
		for d.Cost = 1; h.draw(d).Applied; { // all that is there
			h.grants = append(h.grants, grant{h.passed, 1, false})
		}
	default:
		if drawn := h.draw(d); drawn.Applied {
			h.held = append(h.held, holder{draw: drawn, grant: len(h.grants)})
			h.grants = append(h.grants, grant{h.passed, cost, false})
		}
	}
}

func (h *history) lease(d Draw) {
	d.Mode, d.Cost = Lease, 1+h.random.Int64N(d.Rule.Burst)
	drawn := h.draw(d)
	if !drawn.Applied {
		return
	}
	one := holder{draw: drawn, left: d.Cost}
	for i := range d.Cost {
		one.until = append(one.until, h.passed+min(Held, drawn.Full-d.Rule.Flow(d.Cost-i)).Microseconds())
	}
	h.leased = append(h.leased, one)
}

// use takes some tokens from a lease, or gives its rest back.
func (h *history) use() {
	i := h.random.IntN(len(h.leased))
	one := &h.leased[i]
	if one.left == 0 || h.random.IntN(4) == 0 {
		d := Draw{Key: h.key, Rule: one.draw.Rule, Cost: one.left, Mode: Unlease, From: one.draw.Began}
		h.draw(d)
		h.leased = append(h.leased[:i:i], h.leased[i+1:]...)
		return
	}
	for n := 1 + h.random.Int64N(one.left); n > 0; n-- {
		first := int64(len(one.until)) - one.left
		if one.left--; h.passed >= one.until[first] {
			continue
		}
		h.grants = append(h.grants, grant{h.passed, 1, h.charges})
	}
}

// giveBack gives back all of what was drawn once, or some.
func (h *history) giveBack() {
	i := h.random.IntN(len(h.held))
	one := h.held[i]
	h.held = append(h.held[:i:i], h.held[i+1:]...)
	if h.random.IntN(3) == 0 {
		return // it stays
	}
	kept := h.random.Int64N(one.draw.Cost)
	r := one.draw.Rule
	h.draw(Draw{Key: h.key, Rule: r, Cost: one.draw.Cost - kept, Mode: Return, From: r.After(one.draw.Began, kept)})
	h.grants[one.grant].n = kept
}

// judge fails if any span of time has more than the rules allow that allow most.
func (h *history) judge() {
	var burst, per float64
	for i, r := range h.rules {
		burst = max(burst, float64(r.Burst))
		if i == 0 || r.Per < per {
			per = r.Per
		}
	}
	for to, last := range h.grants {
		if last.free {
			continue
		}
		sum := int64(0)
		for from := to; from >= 0; from-- {
			sum += h.grants[from].n
			span := float64(last.at-h.grants[from].at)*1000 + 1000 // the server's clock has whole microseconds
			if float64(sum) > burst+span/per {
				require.Failf(h.t, "too many", "%s: %d hits from grant %d to %d, want %f at most", h.key, sum, from, to, burst+span/per)
			}
		}
	}
}

// TestNeverMore: whatever is taken, given back and leased, and whatever the clock does, no span has
// more hits than the burst and what flows in.
func TestNeverMore(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s *server) {
		began, used := s.now, 0
		for seed := range s.rounds(200) {
			random := rand.New(rand.NewPCG(seed, 1))
			of := [][3]int64{{10, 20, 10}, {7, 7, 10}, {3, 40, 7}, {1, 1, 2}}[random.IntN(4)]
			quota, burst, window := of[0], of[1], time.Duration(of[2])*time.Second
			h := &history{server: s, random: random, key: fmt.Sprint("n", seed), rules: []*Rule{NewRule(quota, burst, window)}, charges: seed%3 == 0, leases: seed%2 == 0}
			if seed%4 == 1 {
				h.rules = append(h.rules, NewRule(quota*3, burst, window), NewRule(quota, burst*2, window))
			}
			s.now = began
			for range 150 {
				h.step()
			}
			h.judge()
			used += len(h.grants)
		}
		require.NotZero(t, used)
	})
}

// A plain bucket counts the nanoseconds that it is missing.
type plain struct {
	rule        *Rule
	missing, at int64
}

// taken returns what is missing at now, by the rule.
func (b *plain) taken(r *Rule, now int64) int64 {
	missing := max(0, b.missing-(now-b.at)*1000)
	return int64(float64(missing) / b.rule.Per * r.Per)
}

// TestAllThatFits: a call is allowed exactly if it fits what was used, also after others that gave all
// they had taken back, and after a change of the rule.
func TestAllThatFits(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s *server) {
		began := s.now
		rules := []*Rule{NewRule(10, 25, 10*time.Second), NewRule(5, 25, 10*time.Second), NewRule(10, 8, 10*time.Second)}
		for seed := range s.rounds(60) {
			random := rand.New(rand.NewPCG(seed, 1))
			s.now = began
			b, key, changes := plain{rule: rules[0], at: s.now}, fmt.Sprint("f", seed), seed%2 == 0
			rule := rules[0]
			for step := range 150 {
				s.now += random.Int64N(2_500_000)
				if changes && random.IntN(20) == 0 {
					rule = rules[random.IntN(len(rules))]
				}
				if !changes && random.IntN(4) == 0 {
					s.detour(random, key, rule)
				}
				d := s.draw(Draw{Key: key, Rule: rule, Cost: 1 + random.Int64N(6), Mode: []Mode{Take, Take, Take, Look, Charge, Lease}[random.IntN(6)]})
				missing, need := b.taken(rule, s.now), rule.Flow(d.Cost).Nanoseconds()
				fits := missing+need <= rule.Flow(rule.Burst).Nanoseconds()+500
				require.Equal(t, fits, d.Applied, "%s: step %d", key, step)
				switch takes := d.Mode != Look && fits || d.Mode == Charge; {
				case takes:
					b = plain{rule, missing + need, s.now}
				case d.Mode != Look && missing > 0 && rule.Per < b.rule.Per:
					b = plain{rule, missing, s.now}
				case !fits && rule.Per > b.rule.Per: // what it lacks flows in at the old rate
					lacks := float64(missing + need - rule.Flow(rule.Burst).Nanoseconds())
					require.InDelta(t, lacks/rule.Per*b.rule.Per, rule.RetryAfter(d.Full, d.Cost), 2000)
					continue
				}
				require.InDelta(t, b.taken(rule, s.now), d.Full, 10, "%s: step %d", key, step)
			}
		}
	})
}

// detour takes tokens, some of which others take while the first are out, and gives all back.
func (s *server) detour(random *rand.Rand, key string, rule *Rule) {
	var out []*Draw
	for range 1 + random.IntN(3) {
		if d := s.draw(Draw{Key: key, Rule: rule, Cost: 1 + random.Int64N(6)}); d.Applied {
			out = append(out, d)
		}
		s.now += random.Int64N(500_000)
	}
	for i := len(out) - 1; i >= 0; i-- {
		s.now += random.Int64N(500_000)
		s.draw(Draw{Key: key, Rule: rule, Cost: out[i].Cost, Mode: Return, From: out[i].Began})
	}
}
