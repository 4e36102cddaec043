package engine

import (
	"errors"
	"net"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// judgeFailure decides for a command without a reply.
func (x *retry) judgeFailure(i int, addr string, err error, now time.Time) attempt.Step {
	r := x.request
	again, final := attempt.Unanswered(err, r.marks[i]&markRepeatable != 0, isAmbiguous(err), runsScript(r.command(i)))
	if !again {
		return final
	}
	because := wasNotSent
	if final == attempt.Ran {
		because = wasUnknown
		x.mayHaveRun(i, err)
	}
	if !x.client.passes(err, x.replicaOf(i) != nil) {
		return final
	}
	t := x.client.unanswered(err, addr, x.request.class(i), x.request.slots[i], now)
	if s := x.inOutage(i, because, t, now); s.Again() {
		return s
	}
	return final
}

// unanswered returns the outage of a command that got no reply because of err. It notes that of a node.
func (c *Client) unanswered(err error, addr string, s class, slot int32, now time.Time) outage {
	if errors.Is(err, redislanes.ErrNoOwner) {
		return outage{site: site{slot: slot}, Outage: attempt.Outage{Since: c.topology.Load().Lost(slot, now)}}
	}
	if slot == slots.NoKey && errors.Is(err, redislanes.ErrDown) {
		c.leaveHome(addr)
	}
	t := c.outages.note(site{addr: addr, class: s}, refusedDial(err), beganAt(err), now)
	t.Silent = isSilence(err)
	return t
}

// refusedDial returns the code with which a server refuses connections for now, as while it
// loads its data; "" if none can be made. Connections from before may be answered.
func refusedDial(err error) string {
	if text := saidIn(err); fate.Of([]byte(text)).Passes() {
		return wire.ErrorCode([]byte(text))
	}
	return ""
}

// isSilence tells whether the server is down because it says nothing, rather than
// that it refuses connections or has closed them.
func isSilence(err error) bool {
	var late net.Error
	return errors.Is(err, redislanes.ErrDown) &&
		(errors.Is(err, cause.ErrSuspect) || errors.Is(err, cause.ErrStalled) || errors.As(err, &late) && late.Timeout())
}

// beganAt returns when the outage began, as far as the pool knows; zero if it does not say.
func beganAt(err error) time.Time {
	var dead *cause.Down
	if errors.As(err, &dead) {
		return dead.Since
	}
	return time.Time{}
}

// passes tells whether there is any use in sending a command again that got no
// reply, because of err, or on the primary, if that was a replica's.
func (c *Client) passes(err error, replica bool) bool {
	if errors.Is(err, redislanes.ErrExhausted) || c.ctx.Err() != nil {
		return false // the service wants to know at once
	}
	refused := wire.Refusal(err) // a Dialer.Password that is wrong does not get better
	return replica || refused == nil || wire.Passes(refused)
}
