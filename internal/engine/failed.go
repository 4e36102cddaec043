package engine

import (
	"context"
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// Each failure asks for a refresh of the map, on whatever path it leaves the engine: requests
// (Client.end), and dedicated connections (Client.WithConn, Client.NoteFailure). Without this, a side
// path keeps asking a node that has left the cluster until the next regular refresh.

// noteFailure asks for a refresh because of err, unless that says nothing of the cluster.
func (c *Client) noteFailure(err error) {
	if err != nil && !saysNothing(err) {
		c.hint()
	}
}

// saysNothing reports whether the error is known to say nothing of the map of the slots: the
// caller has left, its own pool is full, the program has made a mistake, or the server has
// answered. Every other error may.
func saysNothing(err error) bool {
	var undecoded *redislanes.DecodeError
	said, answered := cause.SaidIn(err)
	switch {
	case errors.As(err, &undecoded), errors.Is(err, context.Canceled), errors.Is(err, redislanes.ErrExhausted):
		return true
	case errors.Is(err, redislanes.ErrShared), errors.Is(err, cause.ErrReturned):
		return true
	case wire.Refusal(err) != nil:
		return false
	case answered:
		return !hintsAt([]byte(said))
	}
	return false
}

// hintsAt reports whether a server's error is about more than the command: it, or another
// node, might run it.
func hintsAt(text []byte) bool { return fate.Of(text).Passes() || fate.SaysReplica(text) }

// NoteFailure is for the commands on a connection of [Client.WithConn].
func (c *Client) NoteFailure(err error) { c.noteFailure(err) }

// noteOutcomes is noteFailure for the commands of a request.
func (r *Request) noteOutcomes(c *Client) {
	var failed *trip // the last one; its other commands failed for the same cause
	for i := range r.places {
		if t := r.places[i].trip; t != nil && t == failed {
			continue
		}
		reply, err := r.outcome(i)
		if err != nil {
			failed = r.places[i].trip
		}
		if err != nil && !saysNothing(err) || err == nil && resp.IsError(reply) && hintsAt(resp.ErrorText(reply)) {
			c.hint()
			return
		}
	}
}
