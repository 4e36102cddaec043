package attempt

import (
	"bytes"

	"github.com/redislanes/redislanes/internal/fate"
)

// A Step is what happens next to a command that was sent.
type Step uint8

// The steps.
const (
	Ran          Step = iota // it has run, or may have: the outcome stands
	Stands                   // it has not run, and is not sent again
	Follow                   // MOVED: it is sent at once to another node; NOSCRIPT: to the same node
	Ask                      // ASK: the same, but only for its keys
	OtherReplica             // it is sent at once to another replica, or to the primary
	Retry                    // it is sent again after a backoff
)

// Again tells whether the command is sent again.
func (s Step) Again() bool { return s > Stands }

// Stale tells whether a connection has to be replaced because of an error reply with the fate
// f. It has to be if its address leads to another server now, if its login has ended, as with a
// token that has expired, or if it is meant for a primary and the server is a replica. The error
// of a script may be the only sign of that.
func Stale(f fate.Fate, text []byte, replica bool) bool {
	return f == fate.Itself || f == fate.Login && bytes.HasPrefix(text, noAuth) ||
		!replica && (f == fate.ReadOnly || fate.SaysReplica(text))
}

var noAuth = []byte("NOAUTH ")
