package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

var (
	errNotSent = wire.NotSent("a:1", errors.New("refused"))
	errUnknown = &redislanes.OutcomeError{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: context.DeadlineExceeded}
)

// honest is a history with which nothing is wrong: a pipeline, hits, a
// transaction and a mistake, a fault, and a call while a node is dead.
func honest() *History {
	h := &History{
		Terms: Terms{Grace: time.Second, Notice: time.Second, Stall: time.Second, RoundTrip: time.Millisecond, MaxConns: 4},
		TTLs:  map[string]TTL{"c": {Exists: true, Left: time.Minute}, "k": {Exists: true, Left: time.Second}},
		Open:  3, Connected: 3, End: time.Minute,
		Dials:     []Dial{{0, "a:1"}, {time.Second, "a:1"}},
		Refreshes: []Refreshing{{0, 0}, {time.Second, 10}, {2 * time.Second, 12}},
		Samples:   []Sample{{At: time.Second, Addr: "a:1"}},
		Faults:    []Fault{{kind: &kind{name: "dead", dead: true}, At: 20 * time.Second, For: 10 * time.Second}},
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
	return h
}

func TestHonestHistory(t *testing.T) {
	name, sentence := judged(honest())
	require.Empty(t, name+sentence)
}

// TestNoJudgeIsBlind falsifies an honest history in one place after the other.
func TestNoJudgeIsBlind(t *testing.T) {
	ran := func(h *History, text, reply string) {
		h.Log = append(h.Log, Execution{Text: text, Key: "c", Reply: reply})
	}
	tests := []struct {
		judge, name string
		falsify     func(h *History)
	}{
		{"expected", "a panic", func(h *History) { h.Panicked = []string{"boom"} }},
		{"expected", "two commands are alike", func(h *History) { h.Calls[2].Commands[1].Text = h.Calls[2].Commands[0].Text }},
		{"returns", "a call hangs", func(h *History) { h.Calls[0].Ended = -1 }},
		{"deadline", "a call is late", func(h *History) { h.Calls[1].Ended++ }},
		{"outcome", "no outcome", func(h *History) { h.Calls[4].Commands[0].Outcome = Pending }},
		{"outcome", "two outcomes", func(h *History) { h.Calls[4].Commands[0].settle("", errors.Join(errNotSent, errUnknown)) }},
		{"outcome", "an error without an outcome", func(h *History) { h.Calls[4].Commands[0].settle("", errors.New("?")) }},
		{"outcome", "a call hides its error", func(h *History) { h.Calls[6].Err = nil }},
		{"outcome", "a call makes an error up", func(h *History) { h.Calls[4].Err = errNotSent }},
		{"executed", "an acknowledged command is lost", func(h *History) { h.Log[0].Text = "" }},
		{"executed", "a command ran twice", func(h *History) { ran(h, "INCRBY k 5", "5") }},
		{"executed", "what was not sent ran", func(h *History) { ran(h, "SET y y=1", "OK") }},
		{"executed", "a mistake ran", func(h *History) { ran(h, "SET x x=1", "OK") }},
		{"executed", "an unknown command ran twice", func(h *History) { ran(h, "SET y y=2", "OK"); ran(h, "SET y y=2", "OK") }},
		{"member", "a stranger runs a command", func(h *History) { h.Foreign = h.Log[:1] }},
		{"reply", "of another command", func(h *History) { h.Calls[0].Commands[0].Reply = "7" }},
		{"reply", "of another key", func(h *History) { h.Calls[0].Commands[4].Reply = "t=1" }},
		{"reply", "before it was there", func(h *History) { h.Log[3].At = time.Hour }},
		{"reply", "of another ECHO", func(h *History) { h.Calls[4].Commands[0].Reply = "2" }},
		{"order", "commands of a slot change places", func(h *History) { h.Log[2], h.Log[3] = h.Log[3], h.Log[2] }},
		{"order", "a value that is older than its command", func(h *History) { h.Calls[0].Commands[4].Reply = "k=1" }},
		{"expiry", "EXPIRE ran before its INCRBY", func(h *History) { h.Log[0], h.Log[1] = h.Log[1], h.Log[0] }},
		{"expiry", "a counter lives for ever", func(h *History) { h.TTLs["c"] = TTL{Exists: true, Left: -1} }},
		{"hits", "counted, but not acknowledged", func(h *History) { ran(h, "INCRBY c 1", "8") }},
		{"hits", "acknowledged, but not counted", func(h *History) { h.Log[5].Text = "INCRBY c 2" }},
		{"hits", "a total is told twice", func(h *History) { h.Calls[1].Commands[1].Reply = "6" }},
		{"transaction", "a stranger inside", func(h *History) {
			h.Log = append(h.Log[:7:7], Execution{Text: "PING"}, h.Log[7])
		}},
		{"misuse", "a mistake has no error", func(h *History) { h.Calls[3].Err, h.Calls[3].Commands[0].Err = nil, nil }},
		{"closing", "Close takes its time", func(h *History) { h.Closing = Span{40 * time.Second, 44 * time.Second} }},
		{"closing", "Close does not return", func(h *History) { h.Closing = Span{40 * time.Second, 0} }},
		{"closing", "a call goes on", func(h *History) {
			h.Closing, h.Calls[6].Ended = Span{26 * time.Second, 26 * time.Second}, 28*time.Second
		}},
		{"closing", "a call succeeds behind it", func(h *History) { h.Closing = Span{4500 * time.Millisecond, 4500 * time.Millisecond} }},
		{"closing", "a call waits behind it", func(h *History) {
			h.Calls[4].Err, h.Calls[4].Ended = errNotSent, h.Calls[4].Began+time.Second
			h.Calls[4].Commands[0].settle("", errNotSent)
			h.Closing = Span{4500 * time.Millisecond, 4500 * time.Millisecond}
		}},
		{"calm", "a command fails for nothing", func(h *History) {
			h.Calls[4].Err = errUnknown
			h.Calls[4].Commands[0].settle("", errUnknown)
		}},
		{"gentle", "a call fails during a migration", func(h *History) {
			h.Faults[0].kind = &kind{name: "migration", gentle: true}
		}},
		{"gentle", "a call fails in a grace that is long", func(h *History) {
			h.Faults[0].kind, h.Terms.Grace = &kind{name: "loading", brief: true}, time.Minute
		}},
		{"stall", "a call waits for a dead node all the time", func(h *History) {
			h.Calls[5].Ended, h.Faults[0].For, h.Terms.Notice = 30*time.Second, 20*time.Second, 5*time.Second
		}},
		{"grace", "calls wait for a dead node", func(h *History) { h.Calls[6].Ended += time.Second }},
		{"dials", "a storm", func(h *History) {
			for range 200 {
				h.Dials = append(h.Dials, Dial{3 * time.Second, "a:1"})
			}
		}},
		{"retries", "a storm", func(h *History) {
			h.Calls[5].Commands[0].Err = &redislanes.TroubleError{Tries: 50, Took: 500 * time.Millisecond, Err: errNotSent}
		}},
		{"refreshes", "a storm", func(h *History) { h.Refreshes[2].Count = 20 }},
		{"gauges", "a connection is counted twice", func(h *History) { h.Samples[0].Balance = -1 }},
		{"gauges", "a connection is forgotten", func(h *History) { h.Open = 4 }},
		{"left", "a connection is left", func(h *History) { h.Left = 1 }},
		{"secrets", "a value is shown", func(h *History) { h.Texts = []string{"SET k " + canary} }},
	}
	for _, tt := range tests {
		t.Run(tt.judge+": "+tt.name, func(t *testing.T) {
			h := honest()
			tt.falsify(h)
			name, sentence := judged(h)
			require.Equal(t, tt.judge, name, sentence)
			require.NotEmpty(t, sentence)
		})
	}
	named := make(map[string]bool)
	for _, tt := range tests {
		named[tt.judge] = true
	}
	for _, j := range judges {
		require.True(t, named[j.name], "no history is wrong for %s", j.name)
	}
}

// TestExcuses: what looks wrong is not where Redis or the world is the cause.
func TestExcuses(t *testing.T) {
	crowd := func(h *History) {
		h.Calls = append(h.Calls, &Call{ID: 100, Kind: burst, Began: 4 * time.Second, Ended: 26 * time.Second})
	}
	for name, tt := range map[string]struct {
		judge         string
		wrong, excuse func(h *History)
	}{
		"keys that lost something": {
			"hits", func(h *History) { h.Calls[1].Commands[1].Reply = "6" }, func(h *History) { h.Lost = map[string]bool{"c": true} },
		},
		"a burst takes its time": {
			"calm", func(h *History) {
				h.Calls[4].Err = errUnknown
				h.Calls[4].Commands[0].settle("", errUnknown)
			}, crowd,
		},
		"a burst beside a dead node": {"grace", func(h *History) { h.Calls[6].Ended += time.Second }, crowd},
		"a transaction on a node that had the slot": {
			"calm", func(h *History) {
				h.Calls[2].Err = errMoved
				for i := range h.Calls[2].Commands {
					h.Calls[2].Commands[i].settle("", errMoved)
					h.Calls[2].Commands[i].Outcome = NotSent
				}
				h.Log = h.Log[:6]
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := honest()
			tt.wrong(h)
			if tt.excuse != nil {
				found, _ := judged(h)
				require.Equal(t, tt.judge, found)
				tt.excuse(h)
			}
			found, sentence := judged(h)
			require.Empty(t, found, sentence)
		})
	}
}

var errMoved = resp3.SimpleError{S: "MOVED 1 b:1"}

func TestOutcomeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Outcome
	}{
		{nil, Acked},
		{errNotSent, NotSent},
		{errUnknown, Unknown},
		{redislanes.ErrExhausted, NotSent},
		{fmt.Errorf("x: %w", redislanes.ErrRefused), Refused},
		{redislanes.ErrNotPipelinable, NotSent},
		{context.DeadlineExceeded, Contrary},
	} {
		require.Equal(t, tt.want, outcomeOf(tt.err), "%v", tt.err)
	}
}
