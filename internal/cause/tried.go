package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// A Tried is the cause of a command's failure with how long the command was tried in vain,
// and how long the outage has lasted that it met.
type Tried struct {
	Where string        // "node 127.0.0.1:7000", "slot 866" or, if no slot is served, "the whole cluster"; "" if only redirects were followed
	For   time.Duration // how long the outage had lasted when the command was given up
	Tries int           // how often the command was sent, or could not be sent
	Took  time.Duration // from the end of the first try to the end of the last
	Err   error
}

// Error ends with, for example,
// "(after 5 tries in 0.9 s; node 127.0.0.1:7000 unavailable for 1.2 s)".
func (t *Tried) Error() string {
	tries := "1 try"
	switch {
	case t.Tries > 1:
		tries = fmt.Sprintf("%d tries in %s", t.Tries, seconds(t.Took))
	case t.Tries == 0:
		tries = "no try"
	}
	why := strings.TrimSuffix(t.Err.Error(), ": "+redislanes.ErrNotSent.Error()) // the redislanes.Error says it
	if t.Where == "" {
		return fmt.Sprintf("%s (after %s)", why, tries)
	}
	return fmt.Sprintf("%s (after %s; %s unavailable for %s)", why, tries, t.Where, seconds(t.For))
}

// Unwrap returns Err.
func (t *Tried) Unwrap() error { return t.Err }

// seconds prints a time in a unit that fits.
func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
