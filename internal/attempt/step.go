package attempt

import (
	"bytes"
	"errors"

	"github.com/redislanes/redislanes"
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

// Unanswered decides about a command that got no reply because of err. If retry is true, the
// command itself allows a retry; final is its step without one. repeatable says that it may
// run twice. Only the program can say so, never the error.
//
// madeUp says that there was a reply that proves nothing, such as a proxy makes up. A script
// makes up texts of its own, and would reply the same again.
func Unanswered(err error, repeatable, madeUp, script bool) (retry bool, final Step) {
	if errors.Is(err, redislanes.ErrNotSent) {
		return true, Stands
	}
	return repeatable && !(madeUp && script), Ran
}

// Stale tells whether a connection has to be replaced because of an error reply with the fate
// f. It has to be if its address leads to another server now, if its login has ended, as with a
// token that has expired, or if it is meant for a primary and the server is a replica. The error
// of a script may be the only sign of that.
func Stale(f fate.Fate, text []byte, replica bool) bool {
	return f == fate.Itself || f == fate.Login && bytes.HasPrefix(text, noAuth) ||
		!replica && (f == fate.ReadOnly || fate.SaysReplica(text))
}

var noAuth = []byte("NOAUTH ")
