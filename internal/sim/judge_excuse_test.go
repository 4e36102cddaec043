package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExcuses: what looks wrong is not where Redis or the world is the cause.
func TestExcuses(t *testing.T) {
	for name, tt := range map[string]struct {
		judge         string
		wrong, excuse func(h *History)
	}{
		"keys that lost something": {
			"hits", func(h *History) { h.Calls[1].Commands[1].Reply = "6" }, func(h *History) { h.Lost = map[string]bool{"c": true} },
		},
		"a key that lost its end behind the last hit": {
			"expiry", func(h *History) {
				h.TTLs["c"], h.Lost = TTL{Exists: true, Left: -1}, map[string]bool{"c": true}
			}, func(h *History) { h.LastLost = map[string]time.Duration{"c": time.Hour} },
		},
		"a hit that says that only its time to live is missing": {
			"expiry", func(h *History) { h.endless(errUnknown) }, func(h *History) { h.endless(errOnlyCounted) },
		},
		"a hit that was not counted, of which SET alone ran": {
			"expiry", func(h *History) { h.TTLs["c"] = TTL{Exists: true, Left: 2 * time.Hour} }, func(h *History) {
				h.Calls[1].Commands = append(h.Calls[1].Commands,
					Command{Text: "HIT c 9", Name: hit, Key: "c", By: 9, TTL: 3 * time.Hour, Outcome: Unknown, Err: errUnknown})
				h.Calls[1].Err = errUnknown
			},
		},
		"a hit that ran behind its call's end, when its key had expired": {
			"expiry", func(h *History) { h.endless(errUnknown) }, func(h *History) {
				for i := range h.Log {
					if h.Log[i].Text == "INCRBY c 3" {
						h.Log[i].At = 3 * time.Second
					}
				}
			},
		},
		"one old map while the others load or are of another cluster": {
			"map", func(h *History) {
				h.Terms.Primaries, h.Wrong = 3, []Belief{{25 * time.Second, 7, "a:1"}}
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "old map", misleads: 1}, At: 24 * time.Second, For: time.Second})
				h.Faults[0].kind = &kind{name: "stranger"}
			}, func(h *History) { h.Faults[0].kind = &kind{name: "stranger", mute: true} },
		},
		"a stranger that came while nobody else was there": {
			"foreign", func(h *History) {
				h.Foreign = []Execution{{At: 29 * time.Second, Text: "INCRBY k 5"}}
				h.Faults = append(h.Faults, Fault{kind: &kind{name: "gone", mute: true}, At: 14 * time.Second, For: time.Second})
			}, func(h *History) { h.Faults[1].At = 20 * time.Second },
		},
		"a stranger at one address, and nobody at the others": {
			"map", func(h *History) {
				h.Terms.Primaries, h.Wrong = 3, []Belief{{25 * time.Second, 7, "a:1"}}
				for _, name := range []string{"gone", "lost primary"} {
					h.Faults = append(h.Faults, Fault{kind: &kind{name: name, mute: true}, At: 24 * time.Second, For: time.Second})
				}
				h.Faults[0].kind = &kind{name: "stranger"}
			}, func(h *History) { h.Faults[0].kind = &kind{name: "stranger", mute: true} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := honest()
			tt.wrong(h)
			found, _ := judged(h)
			require.Equal(t, tt.judge, found)
			tt.excuse(h)
			found, sentence := judged(h)
			require.Empty(t, found, sentence)
		})
	}
}
