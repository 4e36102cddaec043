package engine

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
)

// tried adds to the i-th command's error what the retries know of it.
func (r *Request) tried(i int, err error) error {
	if r.attempts == nil {
		return err
	}
	return r.attempts[i].explain(err, r.began, r.took)
}

// explain adds to a command's error what is known of it, if it was tried from
// began on for the time that it took.
func (a *history) explain(err error, began time.Time, took time.Duration) error {
	if a.overtaken {
		err = fmt.Errorf("%w: %w", redislanes.ErrOvertaken, err)
	}
	if a.replica {
		err = fmt.Errorf("%w; the server is a replica: give New the address of its primary, or set Config.Sentinel", err)
	}
	switch {
	case a.trouble != nil:
		t := a.trouble
		return &redislanes.TroubleError{Where: t.String(), Since: t.since, For: began.Add(took).Sub(t.since), Tries: a.tries, Took: took, Err: err}
	case a.tries > 1:
		return &redislanes.TroubleError{Tries: a.tries, Took: took, Err: err}
	}
	return err
}

// outcome returns what became of the command, whose last try ended with the reply or the
// error: an error with the outcome unknown if the last try proves nothing of an earlier one.
func (a *history) outcome(reply []byte, err error) ([]byte, error) {
	switch {
	case a.doubt.Settled(reply, err):
		return reply, err
	case err == nil:
		err = saidError(reply)
	}
	return nil, a.doubt.Unknown(err)
}
