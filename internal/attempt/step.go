package attempt

import (
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

// A Step is what happens next to a command that was sent.
type Step uint8

// The steps.
const (
	Ran    Step = iota // it has run, or may have: the outcome stands
	Stands             // it has not run, and is not sent again
	Follow             // MOVED: it is sent at once to another node; NOSCRIPT: to the same node
	Ask                // ASK: the same, but only for its keys
	Turn               // it is sent at once to another replica, or to the primary
	Retry              // it is sent again after a backoff
)

// Again tells whether the command is sent again.
func (s Step) Again() bool { return s > Stands }

// Unanswered decides for a command that got no reply because of err. If retry is true it
// may be sent again, as far as the command goes; final is its step otherwise. Whether it
// may run twice is for the program to say, by repeatable, and never for the error.
//
// madeUp says that there was a reply that proves nothing, such as a proxy makes up. A script
// makes up texts of its own, and would say the same again.
func Unanswered(err error, repeatable, madeUp, script bool) (retry bool, final Step) {
	if errors.Is(err, redislanes.ErrNotSent) {
		return true, Stands
	}
	return repeatable && !(madeUp && script), Ran
}

// Stale tells whether a connection has to be replaced because of an error reply, whose fate
// is f. It leads to another server than its address does now, or it is meant for a primary
// and the server is a replica, which a script may be the only one to tell.
func Stale(f fate.Fate, text []byte, replica bool) bool {
	return f == fate.Itself || !replica && (f == fate.ReadOnly || fate.SaysReplica(text))
}
