package engine

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// A history is what a retry knows of one command.
type history struct {
	attempt.History

	hops      int   // redirects that were followed one behind the other
	followed  int   // redirects that were followed at all
	why       why   // it is sent again
	overtaken bool  // a later command of its slot has run
	to        route // where the last redirect sent it; without a node: by the map
	unknown   attempt.Unknown
}

// A route is where a redirect sends a command, or the replica that was chosen for it.
type route struct {
	node   *node
	use    use
	asking bool
}

// why says for what reason a command is sent again.
type why uint8

const (
	wasRefused why = iota
	wasNotSent
	wasUnknown
	wasMoved
	wasAsked
	wasEarly         // an EXPIRE
	wasUnknownScript // EVALSHA of a script that the server does not know
)

// redirects tells whether a redirect is the reason.
func (w why) redirects() bool { return w == wasMoved || w == wasAsked }

// met returns how many tries did not end with a redirect that was followed. A backoff grows with
// these alone.
func (h *history) met() int { return max(h.Tries-h.followed, 1) }

// failed returns err as the error of the i-th command, with what the retries know of it.
func (r *Request) failed(i int, addr string, err error) *redislanes.Error {
	failed := wire.Named(commandName(r.command(i)), addr, err)
	switch {
	case r.histories != nil:
		r.histories[i].explain(failed, r.began, r.took)
	case addr != "":
		failed.Tries = 1
	}
	return failed
}

// explain adds to a command's error what is known of it, if it was tried from
// began on for the time that it took.
func (h *history) explain(err *redislanes.Error, began time.Time, took time.Duration) {
	err.Tries, err.Since = h.Tries, h.Since
	if h.overtaken {
		err.Cause = fmt.Errorf("%w: %w", cause.ErrOvertaken, err.Cause)
	}
	tried := &cause.Tried{Tries: h.Tries, Took: took, Err: err.Cause}
	if !h.Since.IsZero() {
		tried.Where, tried.For = h.Site.String(), max(0, began.Add(took).Sub(h.Since))
	}
	if tried.Where != "" || h.Tries > 1 {
		err.Cause = tried
	}
}

// outcome returns what became of the command, whose last try ended with the reply or the
// error: an error with the outcome unknown if the last try proves nothing of an earlier one.
func (h *history) outcome(reply []byte, err error) ([]byte, error) {
	switch {
	case h.unknown.Settled(reply, err):
		return reply, err
	case err == nil:
		err = wire.ReplyError(reply)
	}
	return nil, h.unknown.Error(err)
}

// mayHaveRun notes that the i-th command may have run in the try that ended with the error.
func (x *retry) mayHaveRun(i int, err error) {
	if !x.request.onlyReads(i) {
		x.histories[i].unknown.Note(err)
	}
}
