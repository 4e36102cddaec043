package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// roomy: a pool that shrinks because of a quiet time stays large enough for the load that
// it had then, and is not full of it.
func (h *History) roomy(was, is *Sample) string {
	r := is.Pool.LastResize
	if was != nil && was.Pool.LastResize == r || r.Reason != redislanes.ShrinkQuiet || is.Role != "primary" {
		return ""
	}
	at := r.Time.Sub(h.Start)
	quiet := Span{at - h.Terms.Law.Quiet, at - 1}
	if load := h.crowdAt(is.Addr, quiet); r.To < h.Terms.Law.sized(load) {
		return fmt.Sprintf("the pool shrank at %v from %d to %d connections, of which each carries %d, and in the %v before it had a load of %d",
			at, r.From, r.To, h.Terms.Law.Depth, h.Terms.Law.Quiet, load)
	}
	return ""
}

// crowdAt returns how many calls of crowds were under way at the node at the same moment
// within a time, as far as the log tells. Where faults are about besides the scene that
// they are of, those count that took one round trip and were nowhere else.
func (h *History) crowdAt(addr string, within Span) (most int) {
	about := 0
	for _, f := range h.Faults {
		if f.overlaps(within.From-healing, within.To) {
			about++
		}
	}
	var spans []Span
	for _, c := range h.Calls {
		if c.Kind == crowding && c.Began >= within.From && c.Began <= within.To && (about <= 1 || c.took() < 2*h.Terms.LeastTrip) && h.ranAt(c, addr) {
			spans = append(spans, Span{c.Began, c.Ended})
		}
	}
	for _, s := range spans {
		n := 0
		for _, other := range spans {
			if other.From <= s.From && s.From < other.To {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// ranAt reports whether all commands of the call were executed at the node.
func (h *History) ranAt(c *Call, addr string) bool {
	return c.Err == nil && !slices.ContainsFunc(c.Commands, func(cmd Command) bool {
		at := h.executions(cmd.Text)
		return len(at) != 1 || h.Log[at[0]].Node != addr
	})
}

// unasked: no pool closes a connection of its own accord for no reason. Users close none.
func (h *History) unasked(was, is *Sample) string {
	if was == nil || h.closedBy(is.At) {
		return ""
	}
	if n := is.Pool.Closes[redislanes.CloseByClient] - was.Pool.Closes[redislanes.CloseByClient]; n > 0 {
		return fmt.Sprintf("the client has closed %d connections since %v, which nobody has asked for", n, was.At)
	}
	return ""
}

// trusted: a server that answers whoever dials is not suspect.
func (h *History) trusted(was, is *Sample) string {
	if was == nil || was.Pool.Suspects == is.Pool.Suspects || len(h.Rest) > 0 && is.At >= h.Rest[0].At {
		return ""
	}
	about := 0
	for _, f := range h.Faults {
		if !f.overlaps(was.At-healing, is.At) {
			continue
		}
		if about++; !f.answers || about > 1 {
			return ""
		}
	}
	return fmt.Sprintf("the pool has taken its server for suspect since %v, which has answered all the time", was.At)
}

// spared: a call is served at once while there are more connections that are well and free
// than other calls.
func spared(h *History) string {
	most := 8*h.Terms.RoundTrip + 20*time.Millisecond // a transaction takes six
	for _, c := range h.Calls {
		if c.Spare == 0 || h.closedBy(c.Ended) || h.only(c) == nil || h.others(c) >= c.Spare {
			continue
		}
		if h.Terms.Proxy && demoted(c.Err) {
			continue // the connection is well, and the server behind it is a replica now
		}
		if c.Err != nil || c.took() > most {
			return fmt.Sprintf("call %d (%s) took %v, and %d connections of its node were well and free: %v", c.ID, c.Kind, c.took(), c.Spare, c.Err)
		}
	}
	return ""
}

// others returns how many connections to one node other calls may have had when the call
// began, or may have left so that they are about to be asked whether they live.
func (h *History) others(c *Call) (n int) {
	const about = 1100 * time.Millisecond // a pool looks twice a second, when bytes arrived and whom to ask
	every := h.Terms.Law.PingEvery
	recent, pinged := Span{c.Began - 2*h.Terms.RoundTrip - 20*time.Millisecond, c.Began}, Span{c.Began - every - about, c.Began - every}
	for _, other := range h.Calls {
		if other != c && (other.Spare == 0 || other.Began <= c.Began) && other.among([]Span{recent, pinged}) {
			n += other.connections()
		}
	}
	return n
}

// connections returns how many connections to one node the call may need at a time.
func (c *Call) connections() int {
	switch {
	case c.Kind == burst, c.Kind == swarm, c.Kind == allowing:
		return 1 << 10
	case c.Split, c.Kind == "hits", c.Kind == "once":
		return max(1, len(c.Commands))
	}
	return 1
}

// drained: what a pool closes for reasons of its own, as it is idle or has reached its age,
// costs no command its reply.
func drained(h *History) string {
	own := []string{"connection idle", "connection replaced"}
	return h.each(func(c *Call, i int) string {
		var lost *redislanes.Error
		if !errors.As(c.Commands[i].Err, &lost) || !errors.Is(lost.Outcome, redislanes.ErrUnknownOutcome) || lost.Cause == nil {
			return ""
		}
		if why := lost.Cause.Error(); slices.ContainsFunc(own, func(text string) bool { return strings.HasPrefix(why, text) }) {
			return fmt.Sprintf("%s: its connection was closed while it was under way: %s", c.of(i), why)
		}
		return ""
	})
}
