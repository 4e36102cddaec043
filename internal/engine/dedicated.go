package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// WithConn calls use with a connection to the slot's node that nobody else has meanwhile. If none can
// be had, it tries again as for commands. Once use has the connection, its error stands.
func (c *Client) WithConn(ctx context.Context, slot int32, how How, use func(conn *nodepool.Dedicated) error) (err error) {
	if err := c.Usable(ctx); err != nil {
		return err
	}
	d := dedication{client: c, slot: slot, how: how}
	if !c.tracer.asked {
		return d.perform(ctx, use)
	}
	began, start := c.tracer.now(), redislanes.RequestStart{Dedicated: true, Command: unnamed}
	seen := c.tracer.beginRequest(ctx, start)
	err = errActionPanicked
	defer func() {
		info := redislanes.RequestInfo{Took: c.tracer.now() - began, Trips: d.history.Tries, Retries: d.history.Tries - 1, Addr: d.addr()}
		o, code := outcomeOf(nil, err)
		info.Outcome, info.Code, info.Err = outcomes[o], code, err
		c.tracer.endRequest(seen, start, info)
	}()
	err = d.perform(ctx, use)
	return err
}

// errActionPanicked tells a trace that the function of a request has panicked. The caller gets the
// panic itself.
var errActionPanicked = errors.New("redislanes: the action panicked")

// unnamed is the name of commands that nobody knows before they are sent.
var unnamed = requestName{new(Request)}

// A dedication gets a connection for one user.
type dedication struct {
	client  *Client
	slot    int32
	how     How
	history history
	table   *topology      // in use when the last try was made
	to      *nodepool.Node // of the last try
	replica *node          // whose pool it is; nil: a primary's
	avoid   []*node        // replicas that have not answered
}

func (d *dedication) addr() string {
	if d.to == nil {
		return ""
	}
	return d.to.Address()
}

func (d *dedication) perform(ctx context.Context, use func(conn *nodepool.Dedicated) error) error {
	conn, err := d.connect(ctx)
	began := time.Now()
	for err != nil {
		d.client.NoteFailure(err)
		if !d.again(ctx, err) {
			named := wire.Named("", d.addr(), err)
			d.history.explain(named, began, time.Since(began))
			return named
		}
		conn, err = d.connect(ctx)
	}
	defer conn.Return()
	err = use(conn)
	if text, said := cause.SaidIn(err); said {
		d.client.learnAt(d.to, []byte(text), d.replica != nil || d.how.At.use == asReplica)
	}
	return err
}

// connect gets a connection by the map, or to the node that the program has chosen.
func (d *dedication) connect(ctx context.Context) (*nodepool.Dedicated, error) {
	d.history.Tries++
	d.table = d.client.topology.Load()
	switch at := d.how.At; {
	case at.node != nil:
		d.to = at.node.pool(at.use)
	case d.table.Primary(d.slot) == nil:
		d.to = nil
		return nil, wire.NotSent("", d.table.Map.NoOwnerError(d.slot))
	default:
		d.to, d.replica = poolFor(d.table, d.slot, d.how, d.avoid)
	}
	return d.to.Dedicate(ctx)
}

// again waits, and reports whether there is to be another try.
func (d *dedication) again(ctx context.Context, err error) bool {
	f, window := d.client.failure(d.addr(), d.slot, err, time.Now()), d.client.cfg.RetryWindow
	f.Replica = d.replica != nil
	f.Final = f.Final && !f.Replica || isFinal(err, false) || ctx.Err() != nil || d.how.At.node != nil
	switch d.history.Next(f, window) {
	case attempt.OtherReplica:
		d.avoid = append(d.avoid, d.replica)
	case attempt.Retry:
		moved := func() bool { return movedBetween(d.table, d.client.topology.Load(), d.slot) }
		if d.client.wait(ctx, attempt.Backoff(d.history.met(), d.history.Left(f.At, window)), moved) != nil {
			return false
		}
	default:
		return false
	}
	d.client.counters.again[wasNotSent].Add(1)
	return true
}

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
