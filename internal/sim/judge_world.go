package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
)

// window is the time in which dials and refreshes are bounded.
const window = 2 * time.Second

// backoffDials are those of one window to a node that is dead, for each of up to six
// pools, for slow commands, dedicated connections and reads among them, and those for maps of
// the slots: a dozen each, and three where MaxBackoff is 200 ms and eight connections are
// of use before they are lost, which pools do not mind.
const backoffDials = 220

// dials: no address is dialled without bounds, whatever is wrong with it.
func dials(h *History) string {
	most := 3*h.Terms.MaxConns + backoffDials
	if h.Terms.Sentinels {
		most += 3 * mostRefreshes // what each of them says is verified
	}
	recent := make(map[string][]time.Duration)
	for _, d := range h.Dials {
		r := append(recent[d.Addr], d.At)
		for r[0] < d.At-window {
			r = r[1:]
		}
		if recent[d.Addr] = r; len(r) > most {
			return fmt.Sprintf("%s: %d dials in %v until %v, with %d connections at most", d.Addr, len(r), window, d.At, h.Terms.MaxConns)
		}
	}
	return ""
}

// retries: no command is sent again without bounds, whatever is wrong: within the
// first tenth of a second often, and then every 25 ms at most in the long run,
// with an ASK for each, which is a try of its own.
func retries(h *History) string {
	return h.each(func(c *Call, i int) string {
		var t *cause.Tried
		if err := c.Commands[i].Err; !errors.As(err, &t) || t.Tries <= 2*(20+int(t.Took/(25*time.Millisecond))) {
			return ""
		}
		return fmt.Sprintf("%s: %d tries in %v", c.of(i), t.Tries, t.Took)
	})
}

// mostRefreshes are those of one window: the quick ones of a new trouble, those
// of one that lasts, and a regular one.
const mostRefreshes = 16

// spacedRefreshes is how far apart those are of a trouble that lasts, at least: of a window
// of which nothing was noted in between there may be more.
const spacedRefreshes = 500 * time.Millisecond

// refreshes: the map of the slots is not fetched without bounds.
func refreshes(h *History) string {
	for i, r := range h.Refreshes {
		for k := i; k >= 0 && (h.Refreshes[k].At >= r.At-window || k == i-1); k-- {
			n, span := r.Count-h.Refreshes[k].Count, r.At-h.Refreshes[k].At
			if more := max(0, span-window) / spacedRefreshes; n > mostRefreshes+int64(more) {
				return fmt.Sprintf("%d refreshes in %v until %v", n, span, r.At)
			}
		}
	}
	return ""
}

// gauges: the client has as many connections as it says.
func gauges(h *History) string {
	if h.Open != h.Connected && !h.Terms.Stubborn {
		return fmt.Sprintf("the client says that it has %d connections, and %d are open", h.Connected, h.Open)
	}
	return ""
}

// left: nothing is left after Close.
func left(h *History) string {
	if h.Left > 0 {
		return fmt.Sprintf("%d connections are left after Close", h.Left)
	}
	return ""
}

// canary is in every value and password, and must be in no text.
const canary = "cnry"

// secrets: no error and no line of the log shows a value or a password.
func secrets(h *History) string {
	for _, text := range h.Texts {
		if strings.Contains(text, canary) {
			return "shown: " + text
		}
	}
	return ""
}
