package redislanes

import (
	"fmt"
	"time"
)

// A TroubleError says how long a command was tried in vain, and how long the
// trouble has lasted that it met. Err is what became of the command.
type TroubleError struct {
	Where string        // "node 127.0.0.1:7000", "slot 866" or, if no slot is served, "the whole cluster"; "" if only redirects were followed
	Since time.Time     // when the trouble began, as far as the client knows
	For   time.Duration // how long it had lasted when the command was given up
	Tries int           // how often the command was sent, or could not be sent
	Took  time.Duration // from the end of the first try to the end of the last
	Err   error
}

// Error ends with, for example,
// "(after 5 tries in 0.9 s; node 127.0.0.1:7000 in trouble for 1.2 s)".
func (e *TroubleError) Error() string {
	tries := "1 try"
	switch {
	case e.Tries > 1:
		tries = fmt.Sprintf("%d tries in %s", e.Tries, seconds(e.Took))
	case e.Tries == 0:
		tries = "no try"
	}
	if e.Where == "" {
		return fmt.Sprintf("%v (after %s)", e.Err, tries)
	}
	return fmt.Sprintf("%v (after %s; %s in trouble for %s)", e.Err, tries, e.Where, seconds(e.For))
}

// Unwrap returns Err.
func (e *TroubleError) Unwrap() error { return e.Err }

// seconds prints a time in a unit that fits.
func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
