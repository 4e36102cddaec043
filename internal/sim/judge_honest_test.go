package sim

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// honest is a history with which nothing is wrong: a pipeline, hits, a
// transaction and a command that was not sent, a fault, and a call while a node is dead.
func honest() *History {
	h := &History{
		Terms:  Terms{RoundTrip: time.Millisecond},
		TTLs:   map[string]TTL{"c": {Exists: true, Left: time.Minute}, "k": {Exists: true, Left: time.Second}},
		Faults: []Fault{{kind: &kind{name: "dead", mute: true}, At: 20 * time.Second, For: 10 * time.Second}},
	}
	run := func(text, reply string) {
		e := Execution{At: time.Duration(len(h.Log)) * time.Millisecond, Node: "a:1", Conn: 1, Text: text, Reply: reply}
		_, _ = fmt.Sscanf(text, "INCRBY %s", &e.Key)
		h.Log = append(h.Log, e)
	}
	write := func(name, key, args, reply string) Command {
		text := name + " " + key + " " + args
		run(text, reply)
		return Command{Text: text, Name: name, Key: key, Writes: true, Outcome: Acked, Reply: reply}
	}
	call := func(kind string, at time.Duration, commands ...Command) *Call {
		c := &Call{ID: len(h.Calls), Kind: kind, Began: at, Ended: at + time.Millisecond, Commands: commands}
		h.Calls = append(h.Calls, c)
		return c
	}
	incr, expire := write("INCRBY", "k", "5", "5"), write("EXPIRE", "k", "9", "1")
	expire.Twice, expire.TTL = true, 9*time.Second
	set, again := write("SET", "k", "k=1", "OK"), write("SET", "k", "k=2", "OK")
	get := Command{Text: "GET k", Name: "GET", Key: "k", Outcome: Acked, Reply: "k=2"}
	call("pipeline", time.Second, incr, expire, set, again, get)
	run("INCRBY c 3", "3")
	run("INCRBY c 4", "7")
	run("INCRBY d 2", "2")
	call("hits", 2*time.Second,
		Command{Text: "HIT c 3", Name: hit, Key: "c", By: 3, TTL: time.Hour, Outcome: Acked, Reply: "3"},
		Command{Text: "HIT c 4", Name: hit, Key: "c", By: 4, TTL: time.Hour, Outcome: Acked, Reply: "7"}).
		Limit = 2*time.Second + time.Millisecond
	h.Calls[1].Deadline = true
	call(transaction, 3*time.Second, write("SET", "t", "t=1", "OK"), write("SET", "t", "t=2", "OK"))
	call("not sent", 4*time.Second, Command{Text: "SET x x=1", Name: "SET", Key: "x", Writes: true, Outcome: NotSent, Err: errNotSent}).Err = errNotSent
	call("echo", 5*time.Second, Command{Text: "ECHO 1", Name: "ECHO", Slot: -1, Outcome: Acked, Reply: "1"})
	call("dead", 21*time.Second, Command{Text: "SET y y=1", Name: "SET", Key: "y", Writes: true, Outcome: NotSent, Err: errNotSent}).Err = errNotSent
	call("dead", 25*time.Second, Command{Text: "SET y y=2", Name: "SET", Key: "y", Writes: true, Outcome: Unknown, Err: errUnknown}).Err = errUnknown
	h.TTLs["d"] = TTL{Exists: true, Left: -1}
	call("hits, of which one was not counted", 27*time.Second,
		Command{Text: "HIT d 2", Name: hit, Key: "d", By: 2, Outcome: Acked, Reply: "2"},
		Command{Text: "HIT d 9", Name: hit, Key: "d", By: 9, TTL: time.Hour, Outcome: Unknown, Err: errUnknown}).Err = errUnknown
	honestLimits(h)
	return h
}

// endless makes the hits on a key end with an error, and leaves it without a time to live.
func (h *History) endless(err error) {
	hits := h.Calls[1]
	for i := range hits.Commands {
		hits.Commands[i].settle("", err)
	}
	hits.Err, h.TTLs["c"] = err, TTL{Exists: true, Left: -1}
}

// honestLimits adds calls of a limiter in one window: of three hits the third is
// denied, also by a bucket; and one that Redis did not count fails closed.
func honestLimits(h *History) {
	h.Start = time.Unix(1e9, 0)
	h.Terms.Rules = []limit.Rule{
		{Name: "fixed", Quota: 2, Window: 10 * time.Second},
		{Name: "sliding", Quota: 4, Window: 10 * time.Second, Algorithm: limit.SlidingWindow},
		{Name: "bucket", Quota: 2, Window: 10 * time.Second, Algorithm: limit.TokenBucket},
		{Name: "closed", Quota: 2, Window: 10 * time.Second, FailClosed: true},
	}
	ask := func(at time.Duration, allowed bool, rule int, cost int64, d limit.Decision) {
		d.Allowed = allowed
		h.Allowances = append(h.Allowances, &Allowance{Began: at, Ended: at + time.Millisecond, Asks: []Ask{{Rule: rule, Key: "u", Cost: cost, Decision: d}}, Allowed: allowed})
	}
	for _, rule := range []int{0, 2} {
		ask(52*time.Second, true, rule, 1, limit.Decision{Remaining: 1})
		ask(53*time.Second, true, rule, 1, limit.Decision{})
		ask(54*time.Second, false, rule, 1, limit.Decision{RetryAfter: 5 * time.Second})
	}
	h.Allowances[1].Ended = h.Allowances[1].Began // a lease has decided
	ask(45*time.Second, true, 1, 4, limit.Decision{})
	ask(55*time.Second, true, 1, 2, limit.Decision{})
	ask(21*time.Second, false, 3, 1, limit.Decision{Err: errUnknown})
}
