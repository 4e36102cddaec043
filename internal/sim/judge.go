package sim

import (
	"fmt"
	"strings"
	"time"
)

// A judge looks at a history when it is over. It returns "" if all is well, and
// a sentence that says what is wrong otherwise. Judges know nothing of how the
// world was made, and each of them is tested with histories that are wrong.
type judge struct {
	name string
	look func(h *History) string
}

var judges = []judge{
	{"expected", planned},
	{"returns", returns},
	{"outcome", outcomes},
	{"executed", executed},
	{"foreign", foreign},
	{"reply", replies},
	{"order", order},
	{"expiry", expiries},
	{"hits", hits},
	{"limits", limits},
	{"transaction", transactions},
	{"map", believed},
	{"secrets", secrets},
	{"left", left},
	{"alive", alive},
}

// judged returns the first judge that finds something, and what.
func judged(h *History) (name, sentence string) {
	h.index()
	for _, j := range judges {
		if s := j.look(h); s != "" {
			return j.name, s
		}
	}
	return "", ""
}

// of names a command of a call.
func (c *Call) of(i int) string {
	cmd := &c.Commands[i]
	return fmt.Sprintf("call %d (%s), command %d %q, %v", c.ID, c.Kind, i, short(cmd.Text), cmd.Outcome)
}

func (c *Call) took() time.Duration { return c.Ended - c.Began }

func short(text string) string {
	if len(text) > 120 {
		return text[:120] + "…"
	}
	return text
}

func (e *Execution) String() string {
	return fmt.Sprintf("%.6fs %s conn %d: %s → %s", e.At.Seconds(), e.Node, e.Conn, short(e.Text), short(e.Reply))
}

// planned: nothing happened that the world did not plan, such as two commands with
// the same text.
func planned(h *History) string {
	if len(h.Panicked) > 0 {
		return strings.Join(h.Panicked, "; ")
	}
	texts := make(map[string]bool)
	return h.each(func(c *Call, i int) string {
		if cmd := &c.Commands[i]; cmd.Writes && !cmd.Twice {
			if texts[cmd.Text] {
				return c.of(i) + ": there is another one with this text"
			}
			texts[cmd.Text] = true
		}
		return ""
	})
}

// left: nothing is left after Close.
func left(h *History) string {
	if h.Left > 0 {
		return fmt.Sprintf("%d connections are left after Close", h.Left)
	}
	return ""
}

// canary is in every value and in the password, and must be in no text.
const (
	canary   = "cnry"
	password = canary + "password"
)

// secrets: no error and no line of the log shows a value or a password.
func secrets(h *History) string {
	for _, text := range h.Texts {
		if strings.Contains(text, canary) {
			return "shown: " + text
		}
	}
	return ""
}

// each calls look with every command of every call until one has something to say.
func (h *History) each(look func(c *Call, i int) string) string {
	for _, c := range h.Calls {
		for i := range c.Commands {
			if s := look(c, i); s != "" {
				return s
			}
		}
	}
	return ""
}

// told returns the executions, for a sentence.
func (h *History) told(at []int) string {
	var b strings.Builder
	for _, i := range at {
		fmt.Fprintf(&b, "\n    %v", &h.Log[i])
	}
	return b.String()
}
