package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
)

// honest is a history with which nothing is wrong: a pipeline, hits, a
// transaction and a mistake, a fault, and a call while a node is dead.
func honest() *History {
	h := &History{
		Terms: Terms{Grace: time.Second, Notice: time.Second, Stall: time.Second, RoundTrip: time.Millisecond, MaxConns: 4, MinConns: 2},
		TTLs:  map[string]TTL{"c": {Exists: true, Left: time.Minute}, "k": {Exists: true, Left: time.Second}},
		Open:  3, Connected: 3, End: time.Minute,
		Dials:     []Dial{{0, "a:1"}, {time.Second, "a:1"}},
		Refreshes: []Refreshing{{0, 0, 0}, {time.Second, 10, 0}, {2 * time.Second, 12, 1}},
		Samples:   []Sample{sample(time.Second), sample(2 * time.Second)},
		Rest:      []Sample{sample(50 * time.Second)}, Rested: 20 * time.Second,
		Faults: []Fault{{kind: &kind{name: "dead", dead: true}, At: 20 * time.Second, For: 10 * time.Second}},
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
	mistake := call("mistake", 4*time.Second, Command{Text: "SET x x=1", Name: "SET", Key: "x", Writes: true, Outcome: NotSent, Err: errNotSent})
	mistake.Misuse, mistake.Err = true, errNotSent
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

// crowded adds calls that are made at the same moment.
func crowded(h *History, at time.Duration, n int) {
	for i := range n {
		text := fmt.Sprintf("RPUSH u:%d x", i)
		h.Log = slices.Insert(h.Log, 0, Execution{At: at, Node: "a:1", Text: text, Key: fmt.Sprint("u:", i), Reply: "1"})
		push := Command{Text: text, Name: "RPUSH", Key: fmt.Sprint("u:", i), Slot: -1, Writes: true, Outcome: Acked, Reply: "1"}
		h.Calls = append(h.Calls, &Call{ID: 100 + i, Kind: crowding, Began: at, Ended: at + 1, Commands: []Command{push}})
	}
}

// sample is of a pool of 2 to 4 connections, and of a server that has given one error reply.
func sample(at time.Duration) Sample {
	p := redislanes.PoolStats{Size: 4, Target: 2, Open: 2, Idle: 2, Dials: 2, ErrorReplies: map[string]uint64{"OOM": 1}}
	return Sample{At: at, Addr: "a:1", Role: "primary", Pool: p, Errors: map[string]uint64{"OOM": 1}}
}
