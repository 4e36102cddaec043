package engine

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// refused returns the failure of a command that the node has refused for now, and notes since when
// it does. A replica's refusals are not noted: another node answers.
func (c *Client) refused(f fate.Fate, text []byte, addr string, slot int32, replica bool, now time.Time) attempt.Failure {
	met := attempt.Failure{At: now, Site: attempt.AtNode(addr), Replica: replica}
	if slot >= 0 && (f == fate.Unserved || f == fate.Nowhere || f == fate.TryAgain) {
		met.Site = attempt.AtSlot(slot)
	}
	if replica {
		return met
	}
	since, tell := c.refusals.refused(f, addr, slot, now)
	if tell {
		c.log.Note(guard.Outage, attempt.AtNode(addr).String(), now.Sub(since), wire.ErrorCode(text),
			"are retried within RetryWindow, then fail at once")
	}
	met.Since = since
	return met
}

// failure returns the failure of a command that got no reply because of err. Final says that trying
// again is of no use at the same node. Since when a node is down, its pool knows.
func (c *Client) failure(addr string, slot int32, err error, now time.Time) attempt.Failure {
	if errors.Is(err, redislanes.ErrNoOwner) {
		since, _ := c.refusals.refused(fate.Unserved, "", slot, now)
		return attempt.Failure{At: now, Site: attempt.AtSlot(slot), Since: since, Final: c.ctx.Err() != nil}
	}
	f := attempt.Failure{At: now, Site: attempt.AtNode(addr), Lost: !errors.Is(err, redislanes.ErrNotSent)}
	var dead *cause.Down
	if errors.As(err, &dead) {
		f.Since = dead.Since
	}
	refused := wire.Refusal(err) // a Dialer.Password that is wrong does not get better
	f.Final = c.ctx.Err() != nil || refused != nil && !wire.Passes(refused)
	return f
}

// isFinal reports whether trying a command again is of no use at any node: the service wants to know
// at once that its pool is exhausted, and a reply beyond the limits would come again. Of the
// commands on a connection that ends with such a reply, only the one that it is for was due.
func isFinal(err error, due bool) bool {
	return errors.Is(err, redislanes.ErrExhausted) || due && errors.Is(err, resp.ErrLimit)
}

// answered notes that a command for the slot has succeeded at the node, and whether it certainly wrote.
func (c *Client) answered(addr string, slot int32, wrote bool) {
	if c.refusals.open.Load() == 0 {
		return
	}
	if since, told := c.refusals.answered(addr, slot, wrote); told {
		c.log.Note(guard.OutageOver, attempt.AtNode(addr).String(), time.Since(since))
	}
}

// noteAnswers is answered for the commands of a request that were not judged one by one.
func (r *Request) noteAnswers(c *Client) {
	for i := range r.places {
		t := r.places[i].trip
		if t != nil && !t.judged && !t.Failed() && t.Errors() == 0 {
			c.answered(t.pool.Address(), r.slots[i], r.writes(i))
		}
	}
}

// writes reports whether the i-th command certainly writes to a key. A script may only read.
func (r *Request) writes(i int) bool {
	return r.slots[i] >= 0 && r.marks[i]&(Reads|markMayWrite) == 0
}
