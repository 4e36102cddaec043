package engine

import (
	"context"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A command that may block, and a whole transaction, has a connection for itself. It is the only
// command of its Request. A transaction is one command that consists of several: they are sent
// together, and together again if none of them has run.

// AppendOwn is [Client.Append] for a command that needs a connection for itself. The request must be
// empty.
func (c *Client) AppendOwn(r *Request, buf []byte) error {
	cmd := command.Of(buf)
	traits := c.cfg.Slow.apply(cmd)
	if traits.Way() == command.Held {
		return wire.NotShared(cmd, redislanes.ErrShared)
	}
	slot, err := slotOf(cmd)
	if err != nil && c.hasSlots() {
		return err
	}
	r.Commit(buf, slot)
	r.judge(0, traits)
	r.own, r.several = true, err != nil
	return nil
}

// transaction returns what became of a transaction: why it was refused, if none of its commands has
// run, else the last reply that is no refusal.
func (r *Request) transaction(p place) (reply []byte, err error) {
	var refused []byte
	ran := false
	for k, part := range r.parts {
		next, err := p.trip.Reply(p.pos + k)
		switch {
		case err != nil && ran:
			return nil, wire.Unknown(p.trip.pool.Address(), err)
		case err != nil:
			return nil, err
		case !wire.IsRefusal(next):
			reply, ran = next, ran || !isOfNoEffect(r.arena[part.from:part.to], next)
		case refused == nil:
			refused = next
		}
	}
	if refused != nil && !ran {
		return refused, nil
	}
	return reply, nil
}

// isOfNoEffect reports whether the command, which was not refused, has changed nothing but its
// connection. It has opened a transaction, waits for EXEC, or was dropped by EXEC.
func isOfNoEffect(encoded, reply []byte) bool {
	switch command.Of(encoded).Effect() {
	case command.OpensTransaction, command.Watches, command.Unwatches:
		return true
	case command.EndsTransaction:
		return resp.EndsExec(reply)
	}
	return string(reply) == "+QUEUED\r\n"
}

// submitOwn sends the trip over a connection that nobody else has, and waits for its replies.
func (e *execution) submitOwn(ctx context.Context, t *trip) {
	conn, err := t.pool.Dedicate(ctx)
	if err == nil {
		defer conn.Return()
		err = conn.Run(ctx, &t.Batch, e.request.arena)
	}
	if err != nil {
		e.call.Begin(1)
		t.Fail(t.pool.Address(), err)
		return
	}
	e.abandoned = !t.Complete()
}
