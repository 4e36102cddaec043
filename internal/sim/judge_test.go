package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/limit"
)

var (
	errNotSent = wire.NotSent("a:1", errors.New("refused"))
	errUnknown = &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: context.DeadlineExceeded}
)

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
		{"returns", "a call takes for ever", func(h *History) { h.Calls[0].Ended += time.Hour }},
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
		{"protocol", "a reply is believed that is none", func(h *History) { h.Beyond = map[string]bool{"SET t t=1": true} }},
		{"protocol", "a broken connection is kept", func(h *History) { h.Broken = []Span{{3 * time.Second, 5 * time.Second}} }},
		{"order", "commands of a slot change places", func(h *History) { h.Log[2], h.Log[3] = h.Log[3], h.Log[2] }},
		{"order", "a value that is older than its command", func(h *History) { h.Calls[0].Commands[4].Reply = "k=1" }},
		{"overtaken", "a read yields to a read", func(h *History) { refuse(h, errOvertaken) }},
		{"overtaken", "a script is not known", func(h *History) {
			refuse(h, errors.Join(redislanes.ErrRefused, resp3.SimpleError{S: "NOSCRIPT No matching script. Please use EVAL."}))
		}},
		{"order", "a command is overtaken by its own EXPIRE", func(h *History) {
			overtaken := fmt.Errorf("%w: %w", redislanes.ErrRefused, cause.ErrOvertaken)
			c := h.Calls[0]
			c.Commands, c.Err, h.Log[0].Text = c.Commands[:2], overtaken, ""
			c.Commands[0].settle("", overtaken)
		}},
		{"expiry", "EXPIRE ran before its INCRBY", func(h *History) { h.Log[0], h.Log[1] = h.Log[1], h.Log[0] }},
		{"expiry", "a counter lives for ever", func(h *History) { h.TTLs["c"] = TTL{Exists: true, Left: -1} }},
		{"expiry", "a counter that may have been hit lives for ever", func(h *History) {
			for i := range h.Calls[1].Commands {
				h.Calls[1].Commands[i].settle("", errUnknown)
			}
			h.Calls[1].Err, h.TTLs["c"] = errUnknown, TTL{Exists: true, Left: -1}
		}},
		{"expiry", "a counter lives for ever, of which an unknown hit was counted that wants it to end", func(h *History) {
			h.Log = append(h.Log, Execution{Text: "INCRBY d 9", Key: "d", Reply: "11"})
		}},
		{"expiry", "a counter has a time to live that nobody wants", func(h *History) {
			h.Calls[1].Commands[0].TTL, h.Calls[1].Commands[1].TTL = 0, 0
		}},
		{"expiry", "an EXPIRE was refused once, and not sent again by a later hit", func(h *History) {
			for i := range h.Calls[1].Commands {
				h.Calls[1].Commands[i].settle("", errOnlyCounted)
			}
			h.Calls[1].Err, h.TTLs["c"] = errOnlyCounted, TTL{Exists: true, Left: -1}
			later := Command{Text: "HIT c 2", Name: hit, Key: "c", By: 2, TTL: time.Hour, Outcome: Acked, Reply: "9"}
			h.Calls = append(h.Calls, &Call{ID: 99, Kind: "hits", Began: 3 * time.Second, Ended: 3 * time.Second, Commands: []Command{later}})
			h.Log = append(h.Log, Execution{Text: "INCRBY c 2", Key: "c", Reply: "9"})
		}},
		{"expiry", "a hit without a time to live has the error of one", func(h *History) {
			h.Calls[1].Commands[1].settle("", errOnlyCounted)
			h.Calls[1].Commands[1].TTL, h.Calls[1].Err = 0, errOnlyCounted
		}},
		{"hits", "counted, but not acknowledged", func(h *History) { ran(h, "INCRBY c 1", "8") }},
		{"hits", "acknowledged, but not counted", func(h *History) { h.Log[5].Text = "INCRBY c 2" }},
		{"hits", "a total is told twice", func(h *History) { h.Calls[1].Commands[1].Reply = "6" }},
		{"limits", "a call overruns its budget", func(h *History) { h.Allowances[0].Ended += 100 * time.Millisecond }},
		{"limits", "a call overruns its context", func(h *History) { h.Allowances[0].Limit = h.Allowances[0].Began; h.Allowances[0].Deadline = true }},
		{"limits", "a call is allowed of which a part is denied", func(h *History) { h.Allowances[2].Allowed = true }},
		{"limits", "a call is denied for nothing", func(h *History) { h.Allowances[0].Allowed = false }},
		{"limits", "a hit fails open that must fail closed", func(h *History) {
			h.Allowances[8].Allowed, h.Allowances[8].Asks[0].Allowed = true, true
		}},
		{"limits", "more remain than the limit", func(h *History) { h.Allowances[0].Asks[0].Remaining = 3 }},
		{"limits", "a hit is to wait for longer than it takes", func(h *History) { h.Allowances[5].Asks[0].RetryAfter = time.Minute }},
		{"limits", "more are allowed than the limit", func(h *History) {
			h.Allowances[2].Allowed, h.Allowances[2].Asks[0].Allowed = true, true
		}},
		{"limits", "more are allowed than a bucket has tokens", func(h *History) {
			h.Allowances[5].Allowed, h.Allowances[5].Asks[0].Allowed = true, true
		}},
		{"limits", "the window before does not count", func(h *History) { h.Allowances[7].Asks[0].Cost = 3 }},
		{"limits", "a hit is denied though there is room", func(h *History) { h.Allowances[1].Began -= 30 * time.Second }},
		{"limits", "what a bucket denied stays taken", func(h *History) { h.Allowances[3].Asks[0].Cost = 0 }},
		{"limits", "what was denied is not taken back", keepsDenied},
		{"limits", "what was denied is not taken back long after the only connection was replaced", func(h *History) {
			keepsDenied(h)
			h.Terms.Law.Least, h.Terms.RoundTrip = 1, 10*time.Millisecond
			for at, aged := range map[time.Duration]uint64{19 * time.Second: 1, 25 * time.Second: 1, 26 * time.Second: 2} {
				s := sample(at)
				s.Pool.Closes = map[string]uint64{redislanes.CloseAged: aged}
				h.Samples = append(h.Samples, s)
			}
			slices.SortFunc(h.Samples, func(a, b Sample) int { return cmp.Compare(a.At, b.At) })
		}},
		{"limits", "what was denied is not taken back, and callers waited at other times, or for a moment", func(h *History) {
			deniesAgain(h)
			h.Terms.RoundTrip = 60 * time.Millisecond
			short := time.Second + h.Terms.Budget - h.Terms.RoundTrip - 1
			h.Samples = append(h.Samples, waited(51*time.Second, time.Second), waited(54*time.Second, short), waited(55*time.Second, time.Minute))
		}},
		{"limits", "what was denied is not taken back where callers need not wait for each other", func(h *History) {
			deniesAgain(h)
			h.Terms.Roomy = true
			h.Samples = append(h.Samples, waited(51*time.Second, 0), waited(54*time.Second, time.Second))
		}},
		{"limits", "Redis does not count in a healthy world", func(h *History) {
			h.Terms.Roomy, h.Allowances[0].Asks[0].Err = true, errUnknown
		}},
		{"limits", "a share is used up by what was denied", func(h *History) { h.Terms.Instances = 2 }},
		{"transaction", "a stranger inside", func(h *History) {
			h.Log = slices.Insert(h.Log, len(h.Log)-1, Execution{Text: "PING"})
		}},
		{"transaction", "what watches nothing does nothing", func(h *History) {
			h.Calls = append(h.Calls, &Call{Kind: watching, Ended: 1, Err: errUnwatched})
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
		{"start", "New takes long", func(h *History) { h.Started, h.Ready = 6*time.Second, 3*time.Second }},
		{"scene", "a call fails that has to succeed", func(h *History) {
			h.Terms.Roomy = true
			h.Calls[5].Sure = true
		}},
		{"scene", "a call takes longer than it may", func(h *History) {
			h.Terms.Roomy = true
			h.Calls[5].Soon = h.Calls[5].took() - 1
		}},
		{"scene", "a call of another client fails when the client is closed", func(h *History) {
			h.Terms.Roomy, h.Closing = true, Span{h.Calls[5].Began - 1, h.Calls[5].Began - 1}
			h.Calls[5].Sure, h.Calls[5].Own = true, true
		}},
		{"unlearned", "an old map is believed", func(h *History) { h.Unlearned = []Belief{{time.Second, 7, "a:1"}} }},
		{"steady", "another replica is asked", func(h *History) {
			h.Reads = []Execution{{Key: steadyKeys + "k", Node: "a:1"}, {Key: steadyKeys + "k", Node: "a:2"}}
		}},
		{"steady", "a replica is asked in place of the primary", func(h *History) { h.Reads = []Execution{{Key: freshKeys + "k", Node: "a:1"}} }},
		{"lazy", "a call waits for servers to start", func(h *History) {
			h.Calls[4].Began, h.Calls[4].Ended, h.Calls[4].Err, h.Asleep = 0, 2*time.Second, errNotSent, 3*time.Second
			h.Calls[4].Commands[0].settle("", errNotSent)
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
		{"sure", "a command fails that the dead node does not concern", func(h *History) {
			h.Calls[5].Commands[0].Sure = true
		}},
		{"sure", "a command is given to a connection that is of no use", func(h *History) {
			h.Calls[6].Commands[0].Clear = true
			h.Calls[6].Commands[0].Err = &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: io.EOF}
		}},
		{"reason", "a call is not told why a server cannot be dialled", func(h *History) {
			h.Faults[0].kind = &kind{name: "dead", reason: func(err error) bool { return errors.As(err, new(*redislanes.HandshakeError)) }}
			h.Calls[5].Commands[0].Err = wire.NotSent("a:1", &cause.Down{Addr: "a:1", Cause: io.EOF})
		}},
		{"stall", "a call waits for a dead node all the time", func(h *History) {
			h.Calls[5].Ended, h.Faults[0].For, h.Terms.Notice = 30*time.Second, 20*time.Second, 5*time.Second
		}},
		{"grace", "calls wait for a dead node", func(h *History) { h.Calls[6].Ended += time.Second }},
		{"grace", "calls wait longer than StallTimeout for a dead node that was never reached", func(h *History) {
			h.Nodes, h.Faults[0].kind = []string{"b:1"}, &kind{name: "stall", dead: true, local: true}
			h.Calls[6].Ended += time.Second
		}},
		{"grace", "calls wait for a dead node though another one answers", func(h *History) {
			h.Nodes, h.Faults[0].kind = []string{"a:1"}, &kind{name: "stall", dead: true, local: true}
			h.Calls[6].Ended += time.Second
			answer(h, "z", "b:1")
		}},
		{"prompt", "a call waits for nodes that it has nothing to do with", func(h *History) {
			h.Terms.Roomy, h.Calls[1].Commands[0].Name, h.Calls[1].Limit = true, "HIT", 0
			h.Calls[1].Ended += time.Second
		}},
		{"prompt", "few callers wait for each other", func(h *History) {
			h.Terms.Roomy = true
			h.Calls = append(h.Calls, &Call{Kind: beside, Began: 10 * time.Second, Ended: 10*time.Second + 2*h.Terms.RoundTrip})
		}},
		{"prompt", "a call waits for another node", func(h *History) {
			h.Terms.Roomy, h.Nodes, h.Faults[0].kind = true, []string{"b:1"}, &kind{name: "stall", local: true}
			h.Calls[1].Began, h.Calls[1].Ended, h.Calls[1].Limit = 22*time.Second, 24*time.Second, 0
		}},
		{"replica", "a read fails while only replicas are in trouble", func(h *History) {
			h.Terms.Roomy, h.Faults[0].kind = true, &kind{name: "master down", replicas: true}
			h.Calls = append(h.Calls, &Call{
				ID: 99, Kind: "secondary", Began: 22 * time.Second, Ended: 23 * time.Second, Limit: 24 * time.Second, Deadline: true, Err: errNotSent,
				Commands: []Command{{Text: "GET k", Name: "GET", Key: "k", Slot: -1, Outcome: NotSent, Err: errNotSent}},
			})
		}},
		{"spare", "a call waits beside connections that are free", func(h *History) {
			h.Calls = append(h.Calls, &Call{ID: 99, Began: 23 * time.Second, Ended: 23100 * time.Millisecond, Spare: 1})
		}},
		{"spare", "a call fails beside connections that are free", func(h *History) {
			h.Faults[0].kind = &kind{name: "half of them are broken"}
			h.Calls[6].Spare = 1
		}},
		{"drained", "a command is under way on a connection that is closed as idle", func(h *History) {
			lost := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: errors.New("connection idle")}
			h.Calls[6].Commands[0].Err, h.Calls[6].Err = lost, lost
		}},
		{"dials", "a storm", func(h *History) {
			for range 250 {
				h.Dials = append(h.Dials, Dial{3 * time.Second, "a:1"})
			}
		}},
		{"questions", "a server is asked all the time", func(h *History) {
			for i := range 4 {
				h.Dials = append(h.Dials, Dial{time.Second + time.Duration(i+1)*time.Millisecond, "a:1"})
			}
			h.Refreshes = nil
		}},
		{"questions", "a server that makes writers wait is asked all the time", func(h *History) {
			h.Faults[0].kind, h.Faults[0].At, h.Faults[0].For = &kind{name: "pause", pauses: true}, 0, time.Second
			h.Terms.Stall, h.Refreshes, h.Calls = 2*time.Second, nil, h.Calls[:5]
			for i := range 13 {
				h.Dials = append(h.Dials, Dial{time.Second + time.Duration(i+1)*time.Millisecond, "a:1"})
			}
		}},
		{"renewals", "connections are replaced for ever", func(h *History) {
			s := sample(20 * time.Second)
			s.Pool.Dials, s.Pool.Closes = 27, map[string]uint64{redislanes.CloseRenewed: 25}
			h.Samples = append(h.Samples, s)
		}},
		{"retries", "a storm", func(h *History) {
			h.Calls[5].Commands[0].Err = &cause.Tried{Tries: 90, Took: 500 * time.Millisecond, Err: errNotSent}
		}},
		{"refreshes", "a storm", func(h *History) { h.Refreshes[2].Count = 20 }},
		{"map", "a slot is another node's", func(h *History) {
			h.Terms.Primaries, h.Wrong = 3, []Belief{{At: time.Second, Slot: 7, Addr: "b:1"}}
		}},
		{"gauges", "a connection is forgotten", func(h *History) { h.Open = 4 }},
		{"figures", "a connection is counted twice", func(h *History) { h.Samples[0].Balance = -1 }},
		{"figures", "more are wanted than may be", func(h *History) { h.Samples[0].Pool.Target = 5 }},
		{"figures", "a connection is neither in use nor idle", func(h *History) { h.Samples[0].Pool.Idle = 0 }},
		{"figures", "a lane is not counted", func(h *History) { h.Samples[0].Pool.LaneInFlight = []int{0} }},
		{"figures", "an error reply that nobody gave", func(h *History) { h.Samples[1].Pool.ErrorReplies = map[string]uint64{"OOM": 2} }},
		{"figures", "an error reply that is not counted", func(h *History) {
			err := &redislanes.Error{Command: "GET", Addr: "a:1", Cause: resp3.SimpleError{S: "MISCONF no"}}
			failed := Command{Text: "GET k", Name: "GET", Key: "k", Outcome: Failed, Err: err}
			at := 1500 * time.Millisecond
			h.Calls = append(h.Calls, &Call{Kind: "pipeline", Misuse: true, Began: at, Ended: at, Err: err, Commands: []Command{failed}})
		}},
		{"figures", "a pool shrinks while its server is down", func(h *History) {
			h.Samples[0].Pool.Down, h.Samples[1].Pool.Down, h.Samples[1].Pool.Shrinks = true, true, 1
		}},
		{"figures", "a connection is lost for nothing", func(h *History) {
			h.Samples[1].Pool.Closes = map[string]uint64{redislanes.CloseProtocol: 1}
		}},
		{"figures", "a connection is closed for nothing", func(h *History) {
			h.Samples[1].Pool.Closes = map[string]uint64{redislanes.CloseByClient: 1}
		}},
		{"figures", "a server is suspect that answers", func(h *History) { h.Samples[1].Pool.Suspects = 1 }},
		{"figures", "a pool shrinks to less than its load", func(h *History) {
			h.Terms.Law = law{Least: 1, Most: 4, Depth: 1, Quiet: time.Second}
			crowded(h, 1500*time.Millisecond, 2)
			h.Samples[1].Pool.LastResize = redislanes.Resize{Time: h.Start.Add(1800 * time.Millisecond), From: 4, To: 2, Reason: redislanes.ShrinkQuiet}
		}},
		{"figures", "a connection is never given back", func(h *History) { h.Rest[0].Pool.InUse = 1 }},
		{"figures", "a pool stays large", func(h *History) { h.Rest[0].Pool.Target = 3 }},
		{"figures", "nobody notices what is broken", func(h *History) { h.HalfOpen = 1 }},
		{"left", "a connection is left", func(h *History) { h.Left = 1 }},
		{"journal", "a line for each failed dial", func(h *History) {
			for i := range 13 {
				h.Lines = append(h.Lines, Line{At: time.Duration(i) * time.Millisecond, Level: slog.LevelWarn, Text: "dial failed", Where: "a:1"})
			}
		}},
		{"journal", "a line for each map", func(h *History) {
			h.Lines = []Line{{At: time.Second, Text: "slots moved"}, {At: 2 * time.Second, Text: "slots moved"}}
		}},
		{"journal", "a line for what is over in a moment", func(h *History) { h.Lines = []Line{{Text: "outage", Lasted: time.Millisecond}} }},
		{"journal", "no line for what lasts", func(h *History) { h.Terms.Logs = true; refuse(h, errUnserved(h)) }},
		{"journal", "what moves hides what is nobody's", func(h *History) {
			h.Terms.Logs, h.Lines = true, []Line{{At: 22 * time.Second, Text: "outage", Where: "keys of slots that move", Lasted: time.Second}}
			refuse(h, errUnserved(h))
		}},
		{"journal", "a line of a trouble that was over before", func(h *History) {
			h.Terms.Logs, h.Lines = true, []Line{
				{At: 10 * time.Second, Text: "outage", Where: "slots", Lasted: time.Second}, {At: 11 * time.Second, Text: "outage over", Where: "slots"},
			}
			refuse(h, errUnserved(h))
		}},
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

// keepsDenied keeps what a call was denied counted, at a server that nothing is the matter with.
func keepsDenied(h *History) {
	h.Terms.Roomy, h.Nodes = true, []string{"b:1"}
	h.Faults[0].kind = &kind{name: "stall", local: true}
	key := onesOwn + "{1}"
	h.Log = append(h.Log, Execution{Node: "a:1", Text: "INCRBY limit:fixed:1:" + key + " 2", Key: "limit:fixed:1:" + key})
	h.Allowances = append(h.Allowances, &Allowance{Began: 22 * time.Second, Ended: 22*time.Second + h.Terms.Budget, Asks: []Ask{
		{0, key, 2, limit.Decision{Allowed: true}}, {3, "x", 1, limit.Decision{Err: errUnknown}},
	}})
}

// deniesAgain denies a hit for which there is room if what was denied before is taken back.
func deniesAgain(h *History) {
	key := onesOwn + "{1}"
	h.Allowances = append(h.Allowances, &Allowance{Began: 52 * time.Second, Ended: 52*time.Second + h.Terms.Budget, Asks: []Ask{
		{0, key, 2, limit.Decision{Allowed: true}}, {1, "x", 5, limit.Decision{RetryAfter: limit.Never}},
	}}, &Allowance{Began: 53 * time.Second, Ended: 53*time.Second + h.Terms.Budget, Asks: []Ask{
		{0, key, 1, limit.Decision{RetryAfter: 7 * time.Second}},
	}})
}

// waited returns a sample of a pool whose callers have waited for so long in all.
func waited(at, long time.Duration) Sample {
	s := sample(at)
	s.Pool.WaitTime = long
	return s
}
