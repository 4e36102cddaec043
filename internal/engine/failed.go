package engine

import (
	"context"
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/wire"
)

// Each failure asks for a refresh of the map, on whatever path it leaves the engine: requests
// (Client.Exec) and dedicated connections (Client.WithConn). Without this, a side
// path keeps asking a node that has left the cluster until the next regular refresh.

// NoteFailure asks for a refresh because of err, unless that says nothing of the map of the slots: the caller
// has left, its own pool is full, the program has made a mistake, or the server has answered.
func (c *Client) NoteFailure(err error) {
	if err != nil && !saysNothing(err) {
		c.refresher.hint()
	}
}

func saysNothing(err error) bool {
	if said, answered := cause.SaidIn(err); answered && wire.Refusal(err) == nil {
		return !hintsAt([]byte(said))
	}
	for _, own := range [...]error{context.Canceled, redislanes.ErrExhausted, redislanes.ErrShared, cause.ErrReturned} {
		if errors.Is(err, own) {
			return true
		}
	}
	return errors.As(err, new(*redislanes.DecodeError))
}

// hintsAt reports whether a server's error is about more than the command: it, or another
// node, might run it.
func hintsAt(text []byte) bool { return fate.Of(text).Passes() || fate.SaysReplica(text) }

// noteOutcomes is noteFailure for the commands of a request.
func (r *Request) noteOutcomes(c *Client) {
	var failed *trip // the last one; its other commands failed for the same cause
	for i := range r.places {
		if t := r.places[i].trip; t != nil && t == failed {
			continue
		}
		if _, err := r.outcome(i); err != nil {
			failed = r.places[i].trip
			c.NoteFailure(err)
		}
	}
}
