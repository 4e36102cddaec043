package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expiries: no key is left without the time to live that it was promised, and none has
// one that nobody wanted whose hit was sent.
func expiries(h *History) string {
	tallies := h.tallies()
	promised, asked := make(map[string]time.Duration), make(map[string]time.Duration)
	excused, wanted := make(map[string]excuse), make(map[string]time.Duration)
	for _, c := range h.Calls {
		for i := range c.Commands {
			cmd := &c.Commands[i]
			if cmd.Name == hit {
				if cmd.TTL == 0 && onlyCounted(cmd.Err) {
					return fmt.Sprintf("%s: it has no time to live and the error of one: %v", c.of(i), cmd.Err)
				}
				if cmd.Outcome == Acked || cmd.Outcome == Unknown && tallies[cmd.Key].mayHave(cmd.By) {
					promised[cmd.Key] = max(promised[cmd.Key], cmd.TTL)
				}
				if cmd.TTL > 0 && cmd.Outcome == Acked {
					wanted[cmd.Key] = max(wanted[cmd.Key], c.Began)
				}
				excused[cmd.Key] = excused[cmd.Key].with(c, cmd, h.mayLackExpiry(c, cmd))
				asked[cmd.Key] = max(asked[cmd.Key], cmd.TTL) // SET may have run, though INCRBY was not sent
				continue
			}
			if cmd.TTL == 0 || i == 0 || cmd.Outcome != Acked || c.Commands[i-1].Outcome != Acked {
				continue
			}
			counted, expired := h.executions[c.Commands[i-1].Text], h.executions[cmd.Text]
			if len(expired) == 0 || expired[len(expired)-1] < counted[0] {
				return fmt.Sprintf("%s: is not behind what it is for:%s%s", c.of(i), h.told(expired), h.told(counted))
			}
		}
	}
	for key, most := range promised {
		ttl := h.TTLs[key]
		switch {
		case !ttl.Exists || excused[key].stands || h.Lost[key] && (strings.HasPrefix(key, onceKeys) || h.LastLost[key] >= wanted[key]): // others are hit again
		case most == 0 && ttl.Left >= 0 && asked[key] == 0:
			return fmt.Sprintf("%s: %v are left at the end, and no hit wanted a time to live", key, ttl.Left)
		case most > 0 && (ttl.Left < 0 || ttl.Left > asked[key]):
			return fmt.Sprintf("%s: %v are left at the end, and its hits wanted %v at most", key, ttl.Left, asked[key])
		}
	}
	return ""
}

// An excuse is that a key may be left without its time to live, by a hit that ended then.
type excuse struct {
	stands bool
	since  time.Duration
}

// with returns the excuse behind one more hit, which stands until one succeeds that began
// later and wanted a time to live.
func (e excuse) with(c *Call, hit *Command, excused bool) excuse {
	switch {
	case excused:
		return excuse{true, max(e.since, c.Ended)}
	case e.stands && hit.TTL > 0 && hit.Outcome == Acked && hit.Err == nil && c.Began > e.since:
		return excuse{}
	}
	return e
}

// mayLackExpiry reports whether the key of the hit may be left without its time to live: its
// outcome is unknown, and the error says so, or servers may have refused SET, or the key was
// there without one, or may have been known to have one, and had expired before the hit ran.
func (h *History) mayLackExpiry(c *Call, hit *Command) bool {
	if hit.Outcome != Unknown || hit.TTL <= 0 {
		return false
	}
	return onlyCounted(hit.Err) || h.createdLate(c, hit) ||
		slices.ContainsFunc(h.Faults, func(f Fault) bool { return f.partly && f.overlaps(c.Began, c.Ended) })
}

// createdLate reports whether INCRBY has created the hit's key behind the end of its call.
func (h *History) createdLate(c *Call, hit *Command) bool {
	return slices.ContainsFunc(h.Log, func(x Execution) bool {
		return x.Key == hit.Key && x.At > c.Ended && strings.HasPrefix(x.Text, "INCRBY ") && strings.HasSuffix(x.Text, " "+x.Reply)
	})
}

// onlyCounted reports whether the error says that a hit was counted, and no more.
func onlyCounted(err error) bool { return err != nil && strings.Contains(err.Error(), "counted, but") }

// hit is the name of a command that pipeline.Counters send as they like.
const hit = "HIT"

// hits: what callers were told of a counter is what was counted: acknowledged ≤
// value ≤ acknowledged + unknown, and the totals are those of hits that were
// counted one after the other.
func hits(h *History) string {
	for key, t := range h.tallies() {
		var most int64
		for _, by := range t.unknown {
			most += by
		}
		if more := t.counted - t.acked; more < 0 || more > most { // sums may overflow, and differences do so, too
			return fmt.Sprintf("%s: %d acknowledged, %d unknown, %d counted", key, t.acked, most, t.counted)
		}
	}
	spans := make(map[string][]told)
	for _, c := range h.Calls {
		for i := range c.Commands {
			if cmd := &c.Commands[i]; cmd.Name == hit && cmd.Outcome == Acked {
				total, _ := strconv.ParseInt(cmd.Reply, 10, 64)
				spans[cmd.Key] = append(spans[cmd.Key], told{total - cmd.By, total, c, i})
			}
		}
	}
	maps.DeleteFunc(spans, func(key string, _ []told) bool { return h.Lost[key] })
	return disjoint(spans)
}

// A tally is what was added to a counter.
type tally struct {
	acked, counted int64   // as callers were told, and as the servers did it
	unknown        []int64 // what each hit adds of which nobody was told
}

func (h *History) tallies() map[string]*tally {
	tallies := make(map[string]*tally)
	of := func(key string) *tally {
		if tallies[key] == nil {
			tallies[key] = new(tally)
		}
		return tallies[key]
	}
	for _, c := range h.Calls {
		for i := range c.Commands {
			switch cmd := &c.Commands[i]; {
			case cmd.Name != hit:
			case cmd.Outcome == Acked:
				of(cmd.Key).acked += cmd.By
			case cmd.Outcome == Unknown, cmd.Outcome == Pending:
				of(cmd.Key).unknown = append(of(cmd.Key).unknown, cmd.By)
			}
		}
	}
	for i := range h.Log {
		if by, ok := strings.CutPrefix(h.Log[i].Text, "INCRBY "+h.Log[i].Key+" "); ok && tallies[h.Log[i].Key] != nil {
			n, _ := strconv.ParseInt(by, 10, 64)
			tallies[h.Log[i].Key].counted += n
		}
	}
	return tallies
}

// mayHave reports whether an unknown hit may be among what was counted. Of few hits, whose
// amounts are large and differ, the sum tells it.
func (t *tally) mayHave(by int64) bool {
	const few = 8
	if len(t.unknown) > few {
		return true
	}
	for some := range 1 << len(t.unknown) {
		sum, among := t.acked, false
		for i, n := range t.unknown {
			if some>>i&1 == 1 {
				sum, among = sum+n, among || n == by
			}
		}
		if among && sum == t.counted {
			return true
		}
	}
	return false
}

// A told is the total that a hit was told, and the one before it.
type told struct {
	from, to int64
	call     *Call
	command  int
}

// disjoint: hits on a key that lives on were counted one after the other.
func disjoint(hits map[string][]told) string {
	for key, all := range hits {
		slices.SortFunc(all, func(a, b told) int { return cmp.Compare(a.from, b.from) })
		for i := 1; i < len(all); i++ {
			a, b := all[i-1], all[i]
			if b.from < a.to && a.call.Commands[a.command].TTL > 2*length {
				return fmt.Sprintf("%s: %s and %s were told totals of the same hits: %d to %d, %d to %d",
					key, a.call.of(a.command), b.call.of(b.command), a.from, a.to, b.from, b.to)
			}
		}
	}
	return ""
}
