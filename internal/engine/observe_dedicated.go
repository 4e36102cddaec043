package engine

import (
	"context"
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// observed tells the trace of a request on a dedicated connection. The request also ends if the
// action panics.
func (d *dedicatedAction) observed(ctx context.Context) (err error) {
	c := d.client
	began := c.now()
	start := redislanes.RequestStart{Commands: d.commands, Dedicated: true, Names: d}
	d.told = &observation{client: c, ctx: c.beginRequest(ctx, start)}
	err = errActionPanicked
	defer func() {
		info := redislanes.RequestInfo{
			Took: c.now() - began, Commands: d.commands, Trips: d.history.Tries, Retries: d.told.retries, Redirects: d.told.redirects,
		}
		if d.to != nil {
			info.Addr = d.to.Address()
		}
		failed(&info, err, d.commands)
		c.endRequest(d.told.ctx, start, info)
	}()
	err = d.perform(ctx)
	return err
}

// errActionPanicked tells a trace that the action of a request has panicked. The caller gets the
// panic itself.
var errActionPanicked = errors.New("redislanes: the action panicked")

// dedicatedGroups tells a trace of what is sent over a dedicated connection, at once each.
type dedicatedGroups struct {
	told       *observation
	pool       *redislanes.PoolInfo
	try        int
	redirected bool // this try is where a redirect pointed
}

// groups returns what tells of the groups of this try; nil: nobody is told.
func (d *dedicatedAction) groups() *dedicatedGroups {
	if d.told == nil || !d.client.tracesGroups() {
		return nil
	}
	return &dedicatedGroups{d.told, d.to.Info(), d.history.Tries, d.redirected}
}

// begin tells of commands that are about to be sent, in so many bytes, and returns what
// tells of their end. Asked is how many there are with an ASKING before each that needs
// one, 0 if none does. Where the action probes, NOSCRIPT is no failure.
func (g *dedicatedGroups) begin(commands [][]byte, bytes, asked int, probes bool) (end func(replies []byte, err error)) {
	start := redislanes.GroupStart{
		Pool: g.pool, Commands: max(len(commands), asked), Bytes: bytes, Attempt: g.try, Groups: 1, Dedicated: true, Names: &sentAlone{commands},
	}
	switch {
	case g.redirected:
		start.Redirected = len(commands)
	case g.try > 1:
		start.Retried = len(commands)
	}
	began := g.told.client.now()
	ctx := g.told.client.beginGroup(g.told.ctx, start)
	return func(replies []byte, err error) {
		took, size := g.told.client.now()-began, len(replies)
		var became tally
		for range commands {
			var reply []byte
			last := err
			if err == nil {
				reply, replies = resp.Cut(replies)
				last = nil
			}
			became.add(reply, last, probes)
		}
		g.told.client.endGroup(ctx, start, became.group(took, size))
	}
}

// exchange sends the commands and returns their replies.
func (c dedicatedConn) exchange(ctx context.Context, commands [][]byte, request []byte) ([]byte, error) {
	sent, asked := request, []bool(nil)
	if c.asking {
		sent, asked = withAsking(commands, c.InTransaction())
	}
	end := func([]byte, error) {}
	if c.groups != nil && !c.Returned() { // else it fails, and may be later than its request
		end = c.groups.begin(commands, len(sent), len(asked), c.probes)
	}
	replies, err := c.Exchange(ctx, sent)
	replies = without(replies, asked)
	if err != nil {
		c.seen.failed(commands, replies, err, c.Address())
		end(nil, err)
		return nil, err
	}
	end(replies, nil)
	return replies, nil
}

// sentAlone is the commands of one exchange. Its pointers can be compared, as what a
// trace is told has to be.
type sentAlone struct{ commands [][]byte }
