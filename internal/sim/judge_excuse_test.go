package sim

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

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
		"a key that somebody else has given no end": {
			"expiry", func(h *History) { h.TTLs["c"] = TTL{Exists: true, Left: -1} }, func(h *History) {
				h.Changed = map[string]time.Duration{"c": time.Hour}
			},
		},
		"a key that lost its end behind the last hit": {
			"expiry", func(h *History) {
				h.TTLs["c"], h.Lost = TTL{Exists: true, Left: -1}, map[string]bool{"c": true}
			}, func(h *History) { h.LastLost = map[string]time.Duration{"c": time.Hour} },
		},
		"a hit that says that only its time to live is missing": {
			"expiry", func(h *History) {
				for i := range h.Calls[1].Commands {
					h.Calls[1].Commands[i].settle("", errUnknown)
				}
				h.Calls[1].Err, h.TTLs["c"] = errUnknown, TTL{Exists: true, Left: -1}
			}, func(h *History) {
				for i := range h.Calls[1].Commands {
					h.Calls[1].Commands[i].settle("", errOnlyCounted)
				}
				h.Calls[1].Err = errOnlyCounted
			},
		},
		"a hit that ran behind its call's end, when its key had expired": {
			"expiry", func(h *History) {
				for i := range h.Calls[1].Commands {
					h.Calls[1].Commands[i].settle("", errUnknown)
				}
				h.Calls[1].Err, h.TTLs["c"] = errUnknown, TTL{Exists: true, Left: -1}
			}, func(h *History) {
				for i := range h.Log {
					if h.Log[i].Text == "INCRBY c 3" {
						h.Log[i].At = 3 * time.Second
					}
				}
			},
		},
		"functions that are slow whenever they are told of a command": {
			"deadline", func(h *History) { h.Calls[1].Ended = h.Calls[1].Limit + 203*time.Millisecond }, func(h *History) {
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "slow functions", slack: 200 * time.Millisecond}, At: 2 * time.Second, For: time.Second})
			},
		},
		"a burst takes its time": {
			"calm", func(h *History) {
				h.Calls[4].Err = errUnknown
				h.Calls[4].Commands[0].settle("", errUnknown)
			}, crowd,
		},
		"a write is refused by the primary of before, and a read behind it has run": {
			"calm", func(h *History) {
				c := h.Calls[4]
				c.Err = fmt.Errorf("%w: %w", redislanes.ErrRefused, cause.ErrOvertaken)
				c.Commands[0].settle("", c.Err)
			}, func(h *History) { h.Terms.Sentinels = true },
		},
		"the first call to a name that leads to another node now, with no time to wait": {
			"calm", func(h *History) {
				h.Calls[4].Err = fmt.Errorf("%w: %w", redislanes.ErrRefused, errMoved)
				h.Calls[4].Commands[0].settle("", h.Calls[4].Err)
			}, func(h *History) { h.Terms.Names, h.Terms.Grace = true, 0 },
		},
		"one old map while the others load or are of another cluster": {
			"map", func(h *History) {
				h.Terms.Primaries, h.Wrong = 3, []Belief{{25 * time.Second, 7, "a:1"}}
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "old map", gentle: true, misleads: 1}, At: 24 * time.Second, For: time.Second})
				h.Faults[0].kind = &kind{name: "stranger"}
			}, func(h *History) { h.Faults[0].kind = &kind{name: "stranger", mute: true} },
		},
		"a stranger at one address, and nobody at the others": {
			"map", func(h *History) {
				h.Terms.Primaries, h.Wrong = 3, []Belief{{25 * time.Second, 7, "a:1"}}
				for _, name := range []string{"gone", "lost primary"} {
					h.Faults = append(h.Faults, Fault{kind: &kind{name: name, dead: true}, At: 24 * time.Second, For: time.Second})
				}
				h.Faults[0].kind = &kind{name: "stranger"}
			}, func(h *History) { h.Faults[0].kind = &kind{name: "stranger", mute: true} },
		},
		"a call beside a swarm of more callers than there are connections": {
			"calm", func(h *History) {
				h.Calls[4].Err = context.DeadlineExceeded
				h.Calls[4].Commands[0].settle("", wire.NotSent("a:1", context.DeadlineExceeded))
			}, func(h *History) {
				h.Calls = append(h.Calls, &Call{ID: 100, Kind: swarm, Began: 4 * time.Second, Ended: 26 * time.Second})
			},
		},
		"a call in a burst is redirected, and has no time left": {
			"calm", func(h *History) {
				c := h.Calls[4]
				c.Ended, c.Limit, c.Deadline = c.Began+time.Second, c.Began+time.Second, true
				c.Err = fmt.Errorf("%w: %w", redislanes.ErrRefused, errMoved)
				c.Commands[0].settle("", c.Err)
			}, crowd,
		},
		"a connection that takes a second to end, to another node than the dead one": {
			"grace", func(h *History) {
				h.Nodes, h.Faults[0].kind = []string{"b:1"}, &kind{name: "stall", dead: true, local: true}
				h.Calls[6].Ended += time.Second
			}, func(h *History) {
				h.Calls[6].Commands[0].Err = wire.Named("SET", "a:1", errUnknown)
			},
		},
		"a read yields to a write": {
			"overtaken", func(h *History) { refuse(h, errOvertaken) }, func(h *History) {
				c := h.Calls[len(h.Calls)-1]
				c.Commands = append(c.Commands, Command{Text: "SET k k=3", Name: "SET", Key: "k", Writes: true, Outcome: Acked, Reply: "OK"})
				h.Log = append(h.Log, Execution{At: 24 * time.Second, Node: "a:1", Conn: 1, Text: "SET k k=3", Reply: "OK"})
			},
		},
		"a key is first written after its slot has left the silent node": {
			"replica", func(h *History) {
				h.Terms.Roomy, h.Nodes, h.Faults[0].kind = true, []string{"b:1"}, &kind{name: "silence", local: true}
				h.Log = append(h.Log, Execution{At: 40 * time.Second, Node: "a:1", Conn: 1, Text: "INCRBY late 1", Key: "late", Reply: "1"})
				h.Calls = append(h.Calls, &Call{
					ID: 99, Kind: "secondary", Began: 22 * time.Second, Ended: 23 * time.Second, Limit: 24 * time.Second, Deadline: true, Err: errNotSent,
					Commands: []Command{{Text: "GET late", Name: "GET", Key: "late", Slot: -1, Outcome: NotSent, Err: errNotSent}},
				})
			}, func(h *History) {
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "migration", moves: true}, At: 35 * time.Second, For: time.Second})
			},
		},
		"an upload over a thin link, which another one takes meanwhile": {
			"sure", func(h *History) { h.Calls[5].Large, h.Calls[5].Commands[0].Sure = true, true }, func(h *History) {
				h.Calls = append(h.Calls, &Call{ID: 99, Kind: "large value", Large: true, Began: 4 * time.Second, Ended: 26 * time.Second})
			},
		},
		"a reset connection is no sign of a dead node": {
			"grace", func(h *History) { h.Calls[6].Ended += time.Second }, func(h *History) {
				h.Calls[5].Commands[0].Outcome = Unknown
				h.Calls[5].Commands[0].Err = &redislanes.Error{Command: "SET", Addr: "a:1", Cause: syscall.ECONNRESET}
			},
		},
		"a call that was cancelled is no sign of a refusal": {
			"grace", func(h *History) {
				h.Faults[0].kind = &kind{name: "loading", dead: true, harmless: true}
				h.Calls[6].Ended += time.Second
			}, func(h *History) {
				h.Calls[5].Commands[0].Outcome = Unknown
				h.Calls[5].Commands[0].Err = &redislanes.Error{Command: "SET", Addr: "a:1", Cause: context.Canceled}
			},
		},
		"one line for several slots": {
			"journal", func(h *History) { h.Terms.Logs = true; refuse(h, errUnserved(h)) }, func(h *History) {
				h.Lines = []Line{{At: 15 * time.Second, Text: "trouble", Where: "slots", Lasted: time.Second}}
			},
		},
		"a burst beside a dead node": {"grace", func(h *History) { h.Calls[6].Ended += time.Second }, crowd},
		"a user who waited since before is answered by a node that is dead to dials": {
			"grace", func(h *History) { h.Calls[6].Ended += time.Second }, func(h *History) {
				h.Calls = append(h.Calls, &Call{ID: 99, Kind: "await", Began: 19 * time.Second, Ended: 25 * time.Second, Blocks: true})
			},
		},
		"a node that was never reached is known to be dead after StallTimeout": {
			"grace", func(h *History) {
				h.Nodes, h.Faults[0].kind, h.Terms.Stall = []string{"a:1"}, &kind{name: "stall", dead: true, local: true}, 3*time.Second
				h.Calls[6].Ended += time.Second
			}, func(h *History) { h.Nodes = []string{"b:1"} },
		},
		"replicas behind a shared name have a pool of their own": {
			"grace", func(h *History) {
				h.Nodes, h.Faults[0].kind, h.Terms.Stall = []string{"a:1"}, &kind{name: "stall", dead: true, local: true}, 3*time.Second
				h.Calls[6].Ended += time.Second
				h.Calls[5].Kind, h.Calls[6].Kind = "replicas", "replicas"
			}, func(h *History) { h.Terms.Names = true },
		},
		"a failover of a shared name while the map is wrong": {
			"gentle", func(h *History) { h.Faults[0].kind = &kind{name: "false map", gentle: true} }, func(h *History) {
				h.Terms.Names = true
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "graceful failover", gentle: true}, At: 21 * time.Second, For: time.Second})
			},
		},
		"a node that is dead to dials has answered meanwhile over a connection that was given back": {
			"grace", func(h *History) {
				h.Nodes, h.Faults[0].kind = []string{"a:1"}, &kind{name: "unreachable", dead: true, local: true}
				h.Calls[6].Ended += time.Second
			}, func(h *History) { answer(h, "y", "a:1") },
		},
		"a key that is only read may be elsewhere by now": {
			"prompt", func(h *History) {
				h.Terms.Roomy, h.Nodes, h.Faults[0].kind = true, []string{"b:1"}, &kind{name: "stall", local: true}
				h.Calls[1].Began, h.Calls[1].Ended, h.Calls[1].Limit = 22*time.Second, 24*time.Second, 0
			}, func(h *History) {
				for i := range h.Calls[1].Commands {
					cmd := &h.Calls[1].Commands[i]
					cmd.Name, cmd.Reply, cmd.TTL = "GET", null, 0
				}
			},
		},
		"the server behind a proxy has become a replica": {
			"spare", func(h *History) {
				h.Calls[6].Spare, h.Calls[6].Err = 1, resp3.SimpleError{S: "READONLY You can't write against a read only replica."}
			}, func(h *History) { h.Terms.Proxy = true },
		},
		"another call may have the only connection that is well": {
			"spare", func(h *History) { h.Calls[6].Spare = 1 },
			func(h *History) {
				h.Calls = append(h.Calls, &Call{ID: 99, Began: 24 * time.Second, Ended: 26 * time.Second})
			},
		},
		"the only connection is replaced when something is to be taken back": {
			"limits", keepsDenied, func(h *History) {
				h.Terms.Law.Least, h.Terms.RoundTrip = 1, 10*time.Millisecond
				late := sample(24 * time.Second)
				late.Pool.Closes = map[string]uint64{redislanes.CloseAged: 1}
				h.Samples = append(h.Samples, late)
			},
		},
		"callers waited for connections when something was to be taken back": {
			"limits", deniesAgain, func(h *History) {
				h.Terms.RoundTrip = 60 * time.Millisecond
				h.Samples = append(h.Samples, waited(51*time.Second, time.Second), waited(54*time.Second, time.Second+h.Terms.Budget-h.Terms.RoundTrip))
			},
		},
		"a pool whose server is down keeps its size": {
			"figures", func(h *History) { h.Rest[0].Pool.Target = 3 }, func(h *History) { h.Rest[0].Pool.Down = true },
		},
		"another client is not closed": {
			"closing", func(h *History) { h.Closing = Span{4500 * time.Millisecond, 4500 * time.Millisecond} },
			func(h *History) {
				for _, c := range h.Calls {
					c.Own = c.Began > h.Closing.To
				}
			},
		},
		"a transaction on a node that had the slot": {
			"calm", func(h *History) {
				h.Calls[2].Err = errMoved
				for i := range h.Calls[2].Commands {
					h.Calls[2].Commands[i].settle("", errMoved)
					h.Calls[2].Commands[i].Outcome = NotSent
				}
				h.Log = h.Log[:7]
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

// answer has a node answer a call of the kind that met the one that is dead.
func answer(h *History, key, node string) {
	text := "SET " + key + " " + key + "=3"
	h.Calls = append(h.Calls, &Call{ID: 99, Kind: "dead", Began: 24 * time.Second, Ended: 24*time.Second + 1, Commands: []Command{
		{Text: text, Name: "SET", Key: key, Writes: true, Outcome: Acked, Reply: "OK"},
	}})
	h.Log = append(h.Log, Execution{At: 24 * time.Second, Node: node, Conn: 1, Text: text, Key: key, Reply: "OK"})
}

var errOnlyCounted = fmt.Errorf("counted, but: %w", redislanes.ErrUnknownOutcome)

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
		{cause.ErrNotPipelinable, NotSent},
		{context.DeadlineExceeded, Contrary},
	} {
		require.Equal(t, tt.want, outcomeOf(tt.err), "%v", tt.err)
	}
}
