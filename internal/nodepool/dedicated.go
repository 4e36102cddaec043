package nodepool

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Dedicated is a connection that one user has for itself until [Dedicated.Return], for
// transactions and blocking commands.
//
// It is for one goroutine at a time. Nothing breaks if several use it, but a
// connection on which commands were under way at the same time gets no other user.
type Dedicated struct {
	from   *exclusiveAccess
	member *member

	mu       sync.Mutex // guards what follows; never held across I/O
	returned bool
	underWay int // requests that wait for replies
	usage    usage
}

// Return gives the connection back. From then on c is of no use: what is sent
// over it fails with [cause.ErrReturned], and returning it again does nothing. The
// next user finds the connection as this one did. After a command that changes it (an open
// transaction, WATCH, SELECT, CLIENT SETNAME), or that the client does not know, it is closed. It
// is closed, too, if a reply is missing or a command is under way.
func (c *Dedicated) Return() {
	c.mu.Lock()
	again := c.returned
	c.returned = true
	clean := c.underWay == 0 && !c.usage.open && !c.usage.changed
	c.mu.Unlock()
	if !again {
		c.member.quietUntil.Store(nil)
		c.from.takeBack(c.member, clean)
	}
}

// Close closes the connection. It must still be returned. After that, Close
// does nothing.
func (c *Dedicated) Close() error {
	c.mu.Lock()
	returned := c.returned
	c.usage.changed = true
	c.mu.Unlock()
	if returned {
		return nil
	}
	return c.member.lane.Close()
}

// Address returns the server's address, host:port.
func (c *Dedicated) Address() string { return c.member.lane.Address() }

// Exchange sends a request of encoded commands, and returns their replies as they came, one behind the
// other, also those that are errors. If some have no reply, it returns what became of the first of
// them: an error that wraps redislanes.ErrNotSent or redislanes.ErrUnknownOutcome.
func (c *Dedicated) Exchange(ctx context.Context, request []byte) (replies []byte, err error) {
	b := new(wire.Batch)
	b.Reset(wire.NewCall(), request)
	if _, err := wire.Commands(request, b.Add); err != nil {
		return nil, err
	}
	if err := c.Run(ctx, b, request); err != nil {
		return nil, err
	}
	i := 0
	for one := range b.Each(request) {
		if _, err := b.Reply(i); err != nil {
			return nil, wire.NameCommand(err, one, c.Address())
		}
		i++
	}
	return b.Replies(), nil
}

// Run sends the batch, whose commands are in the arena, and waits for its replies. Commands may do
// anything to the connection, except those that have no replies or many ([cause.ErrUnanswered]). If Run
// returns an error, nothing was sent.
func (c *Dedicated) Run(ctx context.Context, b *wire.Batch, arena []byte) error {
	commands, wait := make([]command.Command, 0, b.Len()), time.Duration(0) // for data, one after the other
	for one := range b.Each(arena) {
		sent := command.Of(one)
		if sent.Effect() == command.Unanswered {
			return wire.Named(sent.Name(), c.Address(), cause.ErrUnanswered)
		}
		if err := wire.CheckName(sent); err != nil {
			return err
		}
		commands = append(commands, sent)
		wait += min(sent.Waits(), command.Endless-wait)
	}
	if err := c.begin(wait); err != nil {
		return wire.Named(commands[0].Name(), c.Address(), err)
	}
	wire.RoundTrip(ctx, c.member, b)
	c.end(commands, b)
	return nil
}

// begin notes that a request is under way, unless the connection was returned.
func (c *Dedicated) begin(wait time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return wire.NotSent(c.Address(), cause.ErrReturned)
	}
	if c.underWay++; c.underWay > 1 {
		c.usage.changed = true // in which order the commands ran is not known
	}
	c.member.expectWait(wait, c.member.lane.InFlight() > 0 || c.underWay > 1)
	return nil
}

// expectWait notes how long the commands may wait for data. Until then the silence of the
// connection says nothing of the server. behind says that other commands are in flight, also those
// that their callers have left. Their replies come first.
func (m *member) expectWait(wait time.Duration, behind bool) {
	until := time.Now() // with its monotonic clock: the time of day may be set
	if others := m.quietUntil.Load(); behind && others != nil && others.After(until) {
		until = *others
	}
	until = until.Add(wait) // without a timeout it is 292 years
	m.quietUntil.Store(&until)
}

var _ wire.Submitter = (*member)(nil)

// Submit is part of wire.Submitter, for the user of a dedicated connection.
func (m *member) Submit(b *wire.Batch) (mine bool) {
	mine = m.lane.Submit(b)
	m.pool.attend()
	return mine
}

// Abandon is part of wire.Submitter.
func (m *member) Abandon(b *wire.Batch, cause error) { m.lane.Abandon(b, cause) }

// Address is part of wire.Submitter.
func (m *member) Address() string { return m.lane.Address() }

// end notes what the commands have done to the connection.
func (c *Dedicated) end(commands []command.Command, batch *wire.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.underWay--
	for i, sent := range commands {
		reply, err := batch.Reply(i)
		if errors.Is(err, redislanes.ErrNotSent) {
			return
		}
		c.usage.note(sent, reply)
	}
	if c.underWay == 0 && !batch.Failed() {
		c.member.quietUntil.Store(nil)
	}
}

// usage is what the commands of one user have done to a connection. The zero value is a
// connection as its user got it. Most users send plain commands or whole transactions.
type usage struct {
	changed bool // it is not as the user got it, or there is no telling
	open    bool // MULTI or WATCH was sent, and neither EXEC nor DISCARD has succeeded since
}

// note notes that the command was sent, and its reply; nil is one that did not come.
func (u *usage) note(sent command.Command, reply []byte) {
	switch e := sent.Effect(); {
	case reply == nil || !sent.Known():
		u.changed = true
	case e == command.NoEffect || e == command.Awaits || e == command.Unwatches:
	case e == command.OpensTransaction || e == command.Watches:
		u.open = true
	case e == command.EndsTransaction:
		u.open = u.open && resp.IsError(reply)
	default:
		u.changed = true
	}
}
