package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
)

// executed: what was acknowledged was executed once, what failed, was refused or
// not sent never, and what is unknown at most once.
func executed(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if !cmd.Writes {
			return ""
		}
		at := h.executions(cmd.Text)
		least, most := 0, 0
		switch cmd.Outcome {
		case Acked:
			least, most = 1, 1
		case Unknown, Pending:
			most = 1
		}
		if cmd.Twice && (most > 0 || cmd.TTL > 0) {
			most = len(at)
		}
		if len(at) < least || len(at) > most {
			return fmt.Sprintf("%s: executed %d times: %v%s", c.of(i), len(at), cmd.Err, h.told(at))
		}
		return ""
	})
}

// members: nothing is executed by a server that is none of the cluster. With other
// faults about, a wrong map may vouch for it, or another one have brought it back.
func members(h *History) string {
	if h.Terms.Blind {
		return ""
	}
	for i := range h.Foreign {
		e, about := &h.Foreign[i], 0
		for _, f := range h.Faults {
			if f.overlaps(e.At-2*healing, e.At+1) {
				about++
			}
		}
		if about <= 1 {
			return fmt.Sprintf("executed by a server that is none of the cluster: %v", e)
		}
	}
	return ""
}

// replies: each reply belongs to its command. That of a command that writes is
// the one that the server gave when it executed it; a value says whose it is.
func replies(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		switch {
		case cmd.Outcome != Acked:
		case cmd.Name == "GET":
			if cmd.Reply != null && !h.held(cmd, c.Ended) {
				return fmt.Sprintf("%s: replied %q, which its key did not hold", c.of(i), short(cmd.Reply))
			}
		case cmd.Name == "ECHO":
			if "ECHO "+cmd.Reply != cmd.Text {
				return fmt.Sprintf("%s: replied %q", c.of(i), short(cmd.Reply))
			}
		case cmd.Writes && !h.said(cmd):
			return fmt.Sprintf("%s: replied %q, but the server said%s", c.of(i), short(cmd.Reply), h.told(h.executions(cmd.Text)))
		}
		return ""
	})
}

// said reports whether an execution of the command had its reply.
func (h *History) said(cmd *Command) bool {
	for _, k := range h.executions(cmd.Text) {
		if h.Log[k].Reply == cmd.Reply {
			return true
		}
	}
	return false
}

// held reports whether the key held the value at some time until then.
func (h *History) held(cmd *Command, until time.Duration) bool {
	for _, k := range h.executions("SET " + cmd.Key + " " + cmd.Reply) {
		if h.Log[k].At <= until {
			return true
		}
	}
	return false
}

// order: the acknowledged commands of a call took effect in their order, slot by
// slot, and a value that was read in it is the one that was set before.
func order(h *History) string {
	for _, c := range h.Calls {
		last := make(map[int]int)   // by slot, the index of the command
		set := make(map[string]int) // by key, likewise
		for i := range c.Commands {
			cmd := &c.Commands[i]
			if cmd.Outcome != Acked || cmd.Twice || cmd.Slot < 0 {
				continue
			}
			if k, ok := set[cmd.Key]; ok && cmd.Name == "GET" && !h.Lost[cmd.Key] && h.isOlder(cmd, &c.Commands[k]) {
				return fmt.Sprintf("%s: replied %q behind %q", c.of(i), short(cmd.Reply), short(c.Commands[k].Text))
			}
			if !cmd.Writes || len(h.executions(cmd.Text)) != 1 {
				continue
			}
			if cmd.Name == "SET" {
				set[cmd.Key] = i
			}
			before, ok := last[cmd.Slot]
			if ok && h.overtook(cmd, &c.Commands[before]) {
				return fmt.Sprintf("%s: executed before command %d of its slot %d:%s%s", c.of(i), before, cmd.Slot,
					h.told(h.executions(cmd.Text)), h.told(h.executions(c.Commands[before].Text)))
			}
			last[cmd.Slot] = i
		}
	}
	return ""
}

// overtook reports whether the command was executed before the one that it is behind. Where
// the slot is on its way, keys are at two nodes, and those at one do not wait for others.
func (h *History) overtook(cmd, before *Command) bool {
	k, j := h.executions(cmd.Text)[0], h.executions(before.Text)[0]
	return k < j && (cmd.Key == before.Key || h.Log[k].Node == h.Log[j].Node)
}

// isOlder reports whether the value that was read was set before the given one,
// and not afterwards, as by a call that its caller had left.
func (h *History) isOlder(get, set *Command) bool {
	at := h.executions("SET " + get.Key + " " + get.Reply)
	since := h.executions(set.Text)
	return len(at) == 0 || len(since) > 0 && at[len(at)-1] < since[0]
}

// expiries: no key is left without the time to live that it was promised, and none has
// one that nobody wanted whose hit was sent.
func expiries(h *History) string {
	promised, excused, tried := make(map[string]time.Duration), make(map[string]bool), make(map[string]bool)
	for _, c := range h.Calls {
		for i := range c.Commands {
			cmd := &c.Commands[i]
			if cmd.Name == hit {
				if cmd.TTL == 0 && errors.Is(cmd.Err, redislanes.ErrExpiry) {
					return fmt.Sprintf("%s: it has no time to live and the error of one: %v", c.of(i), cmd.Err)
				}
				if cmd.Outcome == Acked || cmd.Outcome == Unknown {
					promised[cmd.Key] = max(promised[cmd.Key], cmd.TTL)
				}
				excused[cmd.Key] = excused[cmd.Key] || h.excusedExpiry(cmd)
				tried[cmd.Key] = tried[cmd.Key] || cmd.TTL > 0 && (cmd.Outcome != NotSent || c.Kind == overflowing) // an EXPIRE goes with it
				continue
			}
			if cmd.TTL == 0 || i == 0 || cmd.Outcome != Acked || c.Commands[i-1].Outcome != Acked {
				continue
			}
			counted, expired := h.executions(c.Commands[i-1].Text), h.executions(cmd.Text)
			if len(expired) == 0 || expired[len(expired)-1] < counted[0] {
				return fmt.Sprintf("%s: is not behind what it is for:%s%s", c.of(i), h.told(expired), h.told(counted))
			}
		}
	}
	for key, most := range promised {
		ttl := h.TTLs[key]
		switch {
		case !ttl.Exists || excused[key] || h.Lost[key] && strings.HasPrefix(key, onceKeys): // others are hit again
		case most == 0 && ttl.Left >= 0 && !tried[key]:
			return fmt.Sprintf("%s: %v are left at the end, and no hit that was sent wanted a time to live", key, ttl.Left)
		case most > 0 && (ttl.Left < 0 || ttl.Left > most):
			return fmt.Sprintf("%s: %v are left at the end, and its hits were promised %v at most", key, ttl.Left, most)
		}
	}
	return ""
}

// excusedExpiry reports whether the key of the hit may be left without its time to live: the
// server refused it for good, or the client was closed before it could do more.
func (h *History) excusedExpiry(hit *Command) bool {
	var said resp3.SimpleError
	refused := errors.As(hit.Err, &said) && !errors.Is(hit.Err, redislanes.ErrRefused) && !isTooMuch(hit.Err)
	return hit.Err != nil && h.Closing.From > 0 || errors.Is(hit.Err, redislanes.ErrExpiry) && refused
}

// hit is the name of a command that pipeline.Counters send as they like.
const hit = "HIT"

// hits: what callers were told of a counter is what was counted: acknowledged ≤
// value ≤ acknowledged + unknown, and the totals are those of hits that were
// counted one after the other.
func hits(h *History) string {
	acked, unknown, counted := make(map[string]int64), make(map[string]int64), make(map[string]int64)
	spans := make(map[string][]told)
	for i := range h.Log {
		if by, ok := strings.CutPrefix(h.Log[i].Text, "INCRBY "+h.Log[i].Key+" "); ok {
			n, _ := strconv.ParseInt(by, 10, 64)
			counted[h.Log[i].Key] += n
		}
	}
	for _, c := range h.Calls {
		for i := range c.Commands {
			cmd := &c.Commands[i]
			switch {
			case cmd.Name != hit:
			case cmd.Outcome == Acked:
				acked[cmd.Key] += cmd.By
				total, _ := strconv.ParseInt(cmd.Reply, 10, 64)
				spans[cmd.Key] = append(spans[cmd.Key], told{total - cmd.By, total, c, i})
			case cmd.Outcome == Unknown, cmd.Outcome == Pending:
				unknown[cmd.Key] += cmd.By
			}
		}
	}
	for key, n := range acked {
		if more := counted[key] - n; more < 0 || more > unknown[key] { // sums may overflow, and differences do so, too
			return fmt.Sprintf("%s: %d acknowledged, %d unknown, %d counted", key, n, unknown[key], counted[key])
		}
	}
	for key, n := range unknown {
		if _, ok := acked[key]; !ok && counted[key] > n {
			return fmt.Sprintf("%s: nothing acknowledged, %d unknown, %d counted", key, n, counted[key])
		}
	}
	maps.DeleteFunc(spans, func(key string, _ []told) bool { return h.Lost[key] })
	return disjoint(spans)
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

// transactions: nobody else's command is executed inside of one.
func transactions(h *History) string {
	for _, c := range h.Calls {
		if c.Kind != transaction {
			continue
		}
		before := -1
		for i := range c.Commands {
			at := h.executions(c.Commands[i].Text)
			if !c.Commands[i].Writes || len(at) == 0 {
				continue
			}
			if before >= 0 && at[0] != before+1 {
				return fmt.Sprintf("%s: is not right behind the one before it:\n    %v\n    %v", c.of(i), &h.Log[before], &h.Log[at[0]])
			}
			before = at[0]
		}
	}
	return ""
}

// transaction is the kind of calls that use MULTI and EXEC.
const transaction = "transaction"

// null is how a null reply is noted.
const null = "(nil)"
