package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
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
		{"returns", "a call is late", func(h *History) { h.Calls[1].Ended += lastLook + 1 }},
		{"outcome", "no outcome", func(h *History) { h.Calls[4].Commands[0].Outcome = Pending }},
		{"outcome", "two outcomes", func(h *History) { h.Calls[4].Commands[0].settle("", errors.Join(errNotSent, errUnknown)) }},
		{"outcome", "an error without an outcome", func(h *History) { h.Calls[4].Commands[0].settle("", errors.New("?")) }},
		{"outcome", "a call hides its error", func(h *History) { h.Calls[6].Err = nil }},
		{"outcome", "a call makes an error up", func(h *History) { h.Calls[4].Err = errNotSent }},
		{"executed", "an acknowledged command is lost", func(h *History) { h.Log[0].Text = "" }},
		{"executed", "a command ran twice", func(h *History) { ran(h, "INCRBY k 5", "5") }},
		{"executed", "what was not sent ran", func(h *History) { ran(h, "SET y y=1", "OK") }},
		{"executed", "what was not sent ran", func(h *History) { ran(h, "SET x x=1", "OK") }},
		{"executed", "an unknown command ran twice", func(h *History) { ran(h, "SET y y=2", "OK"); ran(h, "SET y y=2", "OK") }},
		{"foreign", "a stranger runs a command", func(h *History) { h.Foreign = h.Log[:1] }},
		{"reply", "of another command", func(h *History) { h.Calls[0].Commands[0].Reply = "7" }},
		{"reply", "of another key", func(h *History) { h.Calls[0].Commands[4].Reply = "t=1" }},
		{"reply", "before it was there", func(h *History) { h.Log[3].At = time.Hour }},
		{"reply", "of another ECHO", func(h *History) { h.Calls[4].Commands[0].Reply = "2" }},
		{"reply", "a reply is believed that is none", func(h *History) { h.Beyond = map[string]bool{"SET t t=1": true} }},
		{"order", "commands of a key change places", func(h *History) { h.Log[2], h.Log[3] = h.Log[3], h.Log[2] }},
		{"order", "a value that is older than its command", func(h *History) { h.Calls[0].Commands[4].Reply = "k=1" }},
		{"expiry", "EXPIRE ran before its INCRBY", func(h *History) { h.Log[0], h.Log[1] = h.Log[1], h.Log[0] }},
		{"expiry", "a counter lives for ever", func(h *History) { h.TTLs["c"] = TTL{Exists: true, Left: -1} }},
		{"expiry", "a counter that may have been hit lives for ever", func(h *History) { h.endless(errUnknown) }},
		{"expiry", "a counter lives for ever, of which an unknown hit was counted that wants it to end", func(h *History) {
			h.Log = append(h.Log, Execution{Text: "INCRBY d 9", Key: "d", Reply: "11"})
		}},
		{"expiry", "a counter has a time to live that nobody wants", func(h *History) {
			h.Calls[1].Commands[0].TTL, h.Calls[1].Commands[1].TTL = 0, 0
		}},
		{"expiry", "an EXPIRE was refused once, and not sent again by a later hit", func(h *History) {
			h.endless(errOnlyCounted)
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
		{"limits", "a call is allowed of which a part is denied", func(h *History) { h.Allowances[2].Allowed = true }},
		{"limits", "a call is denied for nothing", func(h *History) { h.Allowances[0].Allowed = false }},
		{"limits", "a hit fails open that must fail closed", func(h *History) {
			h.Allowances[8].Allowed, h.Allowances[8].Asks[0].Allowed = true, true
		}},
		{"limits", "more are allowed than the limit", func(h *History) {
			h.Allowances[2].Allowed, h.Allowances[2].Asks[0].Allowed = true, true
		}},
		{"limits", "more are allowed than a bucket has tokens", func(h *History) {
			h.Allowances[5].Allowed, h.Allowances[5].Asks[0].Allowed = true, true
		}},
		{"limits", "the window before does not count", func(h *History) { h.Allowances[7].Asks[0].Cost = 3 }},
		{"transaction", "a stranger inside", func(h *History) {
			h.Log = slices.Insert(h.Log, len(h.Log)-1, Execution{Text: "PING"})
		}},
		{"map", "a slot is another node's", func(h *History) {
			h.Terms.Primaries, h.Wrong = 3, []Belief{{At: time.Second, Slot: 7, Addr: "b:1"}}
		}},
		{"alive", "a call fails when all has healed", func(h *History) { h.Dead = []string{"?"} }},
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
