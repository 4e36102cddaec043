package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// An observation is what an observer is told of one request. Its functions are
// called by the goroutine that made the request and by no lane's reader: that a
// group took less time than the request is known from its batch.
type observation struct {
	client    *Client         // nil: nobody is told
	ctx       context.Context // of the request, as the observer returned it
	start     RequestStart
	sent      time.Duration
	began     time.Duration // of the next groups, if it was read already
	wave      int
	groups    int // of the wave
	retries   int // commands, in all waves
	redirects int
}

// sampled reports whether an observer is told of the next request.
func (c *Client) sampled() bool {
	return c.cfg.Observer != nil && (c.cfg.ObserveOneIn == 1 || rand.IntN(c.cfg.ObserveOneIn) == 0)
}

// observe tells the observer, which there is, of a request that begins.
func (c *Client) observe(ctx context.Context, r *Request) {
	now := c.now()
	o := &r.observed
	*o = observation{client: c, sent: now, began: now, start: RequestStart{Commands: r.Len(), Names: r}}
	o.ctx = c.beginRequest(ctx, o.start)
}

// ended tells of the request, whose observation it is, and of what it has not told
// of its groups.
func (o *observation) ended(r *Request) {
	o.endGroups(r.flight)
	o.client.endRequest(o.ctx, o.start, r.info(o.client.now()-o.sent))
	*o = observation{} // which holds no context longer than the request lasts
}

// beginRequest returns the context that the observer is given from now on.
func (c *Client) beginRequest(ctx context.Context, s RequestStart) context.Context {
	if c.cfg.Contexts == nil {
		return ctx
	}
	next, err := func() (next context.Context, err error) {
		defer guard.Catch("ContextObserver.BeginRequest", &err)
		return c.cfg.Contexts.BeginRequest(ctx, s), nil
	}()
	c.journal.Panicked(err)
	if next == nil {
		return ctx
	}
	return next
}

func (c *Client) endRequest(ctx context.Context, s RequestStart, info RequestInfo) {
	if err := c.tellRequest(ctx, s, info); err != nil {
		c.journal.Panicked(err)
	}
}

func (c *Client) tellRequest(ctx context.Context, s RequestStart, info RequestInfo) (err error) {
	if o := c.cfg.Contexts; o != nil {
		defer guard.Catch("ContextObserver.EndRequest", &err)
		o.EndRequest(ctx, s, info)
		return nil
	}
	defer guard.Catch("Observer.Request", &err)
	c.cfg.Observer.Request(info)
	return nil
}

// info is what became of the request, which has ended.
func (r *Request) info(took time.Duration) RequestInfo {
	info := RequestInfo{
		Took: took, Commands: r.Len(), Trips: r.Trips(), Addr: r.onlyNode(),
		Retries: r.observed.retries, Redirects: r.observed.redirects,
	}
	if r.clean {
		return info
	}
	for i := range r.bounds {
		reply, _, err := r.outcome(i)
		if r.probes && saysNoScript(reply) {
			continue
		}
		worse(&info.Outcome, &info.Failed, &info.Code, &info.Err, reply, err)
	}
	return info
}

// onlyNode returns the node that all groups went to, "" if there were several, or
// none.
func (r *Request) onlyNode() string {
	if r.flight == nil || r.flight.reclaimed > 0 || r.flight.used == 0 {
		return ""
	}
	trips := r.flight.trips[:r.flight.used]
	addr := trips[0].pool.Address()
	for _, t := range trips[1:] {
		if t.pool != trips[0].pool && t.pool.Address() != addr {
			return ""
		}
	}
	return addr
}

// worse adds what became of a command to what became of those before it. Code and
// error are those of the first command that fared worst.
func worse(outcome *Outcome, failed *int, code *string, why *error, reply []byte, err error) {
	o := outcomeOf(reply, err)
	if o == OutcomeOK {
		return
	}
	*failed++
	if o <= *outcome {
		return
	}
	*outcome, *code, *why = o, "", err
	if o == OutcomeError {
		*code = wire.ErrorCode(resp.ErrorText(reply))
	}
}

const noScriptCode = "NOSCRIPT"

// saysNoScript tells whether the server does not know the script of EVALSHA. Where EVAL
// follows, that is the first half of running a script and no failure.
func saysNoScript(reply []byte) bool {
	return resp.IsError(reply) && wire.ErrorCode(resp.ErrorText(reply)) == noScriptCode
}

func outcomeOf(reply []byte, err error) Outcome {
	switch {
	case err == nil && !resp.IsError(reply):
		return OutcomeOK
	case err == nil:
		return OutcomeError
	case errors.Is(err, redislanes.ErrNotSent):
		return OutcomeNotSent
	}
	return OutcomeUnknown
}

// nextWave notes that so many groups are about to be sent.
func (o *observation) nextWave(groups int) {
	if o != nil {
		o.wave++
		o.groups = groups
	}
}

// begin tells of groups that are being sent.
func (o *observation) begin(r *Request, trips []*trip) {
	now := o.began
	for _, t := range trips {
		w, _ := t.pool.Maker().(*groupWatcher)
		if w == nil {
			continue
		}
		if now == 0 {
			now = o.client.now()
		}
		t.Measure(now)
		t.watcher, t.of = w, r
		t.start = GroupStart{
			Commands: t.Len(), Bytes: t.Size(), Wave: o.wave, Groups: o.groups,
			Retried: t.retried, Redirected: t.redirected, Names: t,
		}
		t.observed = o.beginGroup(w, t.start)
	}
	o.began = 0 // those that are sent later begin later
}

func (o *observation) beginGroup(w *groupWatcher, s GroupStart) context.Context {
	next, err := func() (next context.Context, err error) {
		defer guard.Catch("GroupObserver.BeginGroup", &err)
		return w.BeginGroup(o.ctx, s), nil
	}()
	o.client.journal.Panicked(err)
	if next == nil {
		return o.ctx
	}
	return next
}

// endGroups tells of the groups that were begun and not told of yet, all of which
// are complete or abandoned.
func (o *observation) endGroups(f *flight) {
	if o == nil || f == nil {
		return
	}
	for _, t := range f.trips[:f.used] {
		o.end(t)
	}
}

// end tells of a group that is complete or abandoned, unless it was told of.
func (o *observation) end(t *trip) {
	w := t.watcher
	if o == nil || w == nil {
		return
	}
	info := t.info()
	ctx := t.observed
	t.watcher, t.observed = nil, nil
	o.endGroup(ctx, w, t.start, info)
	t.of = nil
}

func (o *observation) endGroup(ctx context.Context, w *groupWatcher, s GroupStart, info GroupInfo) {
	err := func() (err error) {
		defer guard.Catch("GroupObserver.EndGroup", &err)
		w.EndGroup(ctx, s, info)
		return nil
	}()
	o.client.journal.Panicked(err)
}

func (t *trip) info() GroupInfo {
	info := GroupInfo{Took: t.Took(), Bytes: t.ReplySize()}
	if t.Troubled() || t.Failed() {
		for i := range t.Len() {
			reply, err := t.Reply(i)
			if (t.of.probes || len(t.of.scripts) > 0) && saysNoScript(reply) {
				continue
			}
			if err == nil {
				err = ambiguous(t.of.proxied, t.pool.Address(), reply)
			}
			worse(&info.Outcome, &info.Failed, &info.Code, &info.Err, reply, err)
		}
	}
	return info
}

// count notes why a command goes again, for the request and for the group that it
// is in.
func (o *observation) count(t *trip, why why) {
	switch {
	case o == nil:
	case why == wasMoved, why == wasAsked:
		o.redirects++
		t.redirected++
	default:
		o.retries++
		t.retried++
	}
}

// failed notes the error of an action that has a connection to itself, which fails as a
// whole.
func (i *RequestInfo) failed(err error, commands int) {
	if err != nil {
		i.Err, i.Failed = err, commands
		i.Outcome, i.Code = outcomeOfAction(err)
	}
}

// outcomeOfAction returns what became of an action that has failed: its error may
// be its own.
func outcomeOfAction(err error) (o Outcome, code string) {
	var said resp3.SimpleError
	switch {
	case errors.Is(err, redislanes.ErrNotSent):
		return OutcomeNotSent, ""
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return OutcomeUnknown, ""
	case errors.As(err, &said):
		return OutcomeError, wire.ErrorCode([]byte(said.S))
	}
	return OutcomeError, ""
}
