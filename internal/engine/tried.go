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
func (a *attempt) explain(err error, began time.Time, took time.Duration) error {
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
