package engine

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// An observation is what a trace is told of one request. Its functions are
// called by the goroutine that made the request and by no lane's reader: that a
// group took less time than the request is known from its batch.
type observation struct {
	tracer    *tracer         // nil: nobody is told
	ctx       context.Context // of the request, as the trace returned it
	sent      time.Duration
	began     time.Duration // of the next groups, if it was read already
	attempt   int32
	groups    int32 // of the attempt
	retries   int32 // commands, in all attempts
	redirects int32
}

// observe tells the trace, which there is, of a request that begins.
func (t *tracer) observe(ctx context.Context, r *Request) {
	o, now := &r.observed, t.now()
	o.tracer, o.sent, o.began = t, now, now // all else is empty
	o.ctx = t.beginRequest(ctx, r.start())
}

func (r *Request) start() redislanes.RequestStart {
	return redislanes.RequestStart{Commands: max(r.Len(), len(r.parts)), Dedicated: r.own, Command: requestName{r}}
}

// ended tells of the request and of its groups that were not told of yet.
func (o *observation) ended(r *Request) {
	o.endGroups(r.execution)
	o.tracer.endRequest(o.ctx, r.start(), r.info(o.tracer.now()-o.sent))
	*o = observation{} // which holds no context longer than the request lasts
}

// beginRequest returns the context that the trace is given from now on, and which it may keep.
func (t *tracer) beginRequest(ctx context.Context, s redislanes.RequestStart) context.Context {
	return begin(t, "Trace.BeginRequest", t.trace.BeginRequest, deadline.Outer(ctx), s)
}

func (t *tracer) endRequest(ctx context.Context, s redislanes.RequestStart, info redislanes.RequestInfo) {
	end(t, "Trace.EndRequest", t.trace.EndRequest, ctx, s, info)
}

// info is what became of the request, which has ended.
func (r *Request) info(took time.Duration) (info redislanes.RequestInfo) {
	info.Took, info.Commands, info.Trips, info.Addr = took, max(r.Len(), len(r.parts)), r.Trips(), r.onlyNode()
	info.Retries, info.Redirects = int(r.observed.retries), int(r.observed.redirects)
	if info.Outcome = "ok"; r.clean {
		return info
	}
	var became tally
	for i := range r.bounds {
		reply, err := r.outcome(i)
		became.add(reply, err, r.probes)
	}
	info.Outcome, info.Failed, info.Code, info.Err = outcomes[became.worst], became.failed, became.code, became.err
	return info
}

// onlyNode returns the node that all groups went to, "" if there were several, or
// none.
func (r *Request) onlyNode() string {
	if r.execution == nil || r.execution.reclaimed > 0 || r.execution.used == 0 {
		return ""
	}
	trips := r.execution.trips[:r.execution.used]
	addr := trips[0].pool.Address()
	for _, t := range trips[1:] {
		if t.pool != trips[0].pool && t.pool.Address() != addr {
			return ""
		}
	}
	return addr
}

// outcomes are from the best to the worst.
var outcomes = [...]string{"ok", "error", "not_sent", "unknown"}

// A tally is what became of several commands. Worst is one of outcomes; code and error are those of the first
// command that fared worst.
type tally struct {
	worst, failed int
	code          string
	err           error
}

// add adds what became of one more. If the commands probe, NOSCRIPT is no failure: it is the
// first half of running a script.
func (t *tally) add(reply []byte, err error, probes bool) {
	o, code := outcomeOf(reply, err)
	if o == 0 || probes && code == "NOSCRIPT" {
		return
	}
	if t.failed++; o > t.worst {
		t.worst, t.code, t.err = o, code, err
	}
}

// outcomeOf returns what became of a command or of the function of a dedicated action, and the code if a server
// replied with an error. The function may return an error of its own.
func outcomeOf(reply []byte, err error) (o int, code string) {
	said, answered := cause.SaidIn(err)
	switch {
	case err == nil && resp.IsError(reply):
		return 1, wire.ErrorCode(resp.ErrorText(reply))
	case err == nil:
		return 0, ""
	case errors.Is(err, redislanes.ErrNotSent):
		return 2, ""
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return 3, ""
	case answered:
		return 1, wire.ErrorCode([]byte(said))
	}
	return 1, ""
}

// begin notes groups that are being sent, and tells of those that share a connection.
func (o *observation) begin(r *Request, trips []*trip) {
	now, trace := o.began, o.tracer.trace
	for _, t := range trips {
		t.retried, t.redirected = 0, 0
		for _, i := range t.commands {
			if r.histories[i].why.redirects() {
				t.redirected++
			} else {
				t.retried++
			}
		}
		o.retries, o.redirects = o.retries+t.retried, o.redirects+t.redirected
		if r.own || trace.BeginGroup == nil && trace.EndGroup == nil {
			continue
		}
		if now == 0 {
			now = o.tracer.now()
		}
		t.Measure(now)
		t.of, t.attempt, t.groups = r, o.attempt, o.groups
		if t.observed = o.ctx; trace.BeginGroup != nil {
			t.observed = begin(o.tracer, "Trace.BeginGroup", trace.BeginGroup, o.ctx, t.start())
		}
	}
	o.began = 0 // those that are sent later begin later
}

// endGroups tells of the groups that were begun and not told of yet. All of them are complete or
// abandoned.
func (o *observation) endGroups(e *execution) {
	for _, t := range e.trips[:e.used] {
		o.end(t)
	}
}

// end tells of a group that is complete or abandoned, unless it was told of.
func (o *observation) end(t *trip) {
	if o == nil || t.of == nil {
		return
	}
	end(o.tracer, "Trace.EndGroup", o.tracer.trace.EndGroup, t.observed, t.start(), t.info())
	t.of, t.observed = nil, nil
}

func (t *trip) start() redislanes.GroupStart {
	return redislanes.GroupStart{
		Pool: t.pool.Info(), Commands: t.Len(), Attempt: int(t.attempt), Groups: int(t.groups),
		Retried: int(t.retried), Redirected: int(t.redirected), Command: tripName{t},
	}
}

func (t *trip) info() redislanes.GroupInfo {
	if !t.HasError() && !t.Failed() {
		return redislanes.GroupInfo{Took: t.Took(), Outcome: "ok"}
	}
	var became tally
	for i := range t.Len() {
		reply, err := t.Reply(i)
		became.add(reply, err, t.of.probes || len(t.of.scripts) > 0)
	}
	return redislanes.GroupInfo{Took: t.Took(), Outcome: outcomes[became.worst], Code: became.code, Err: became.err}
}

// A tracer tells a program's trace of requests and of their groups. A panic in the trace is logged.
type tracer struct {
	trace *redislanes.Trace    // may be nil
	asked bool                 // for requests, or for their groups; else none is timed
	now   func() time.Duration // what their times are taken from
	log   *guard.Log
}

func newTracer(t *redislanes.Trace, log *guard.Log) tracer {
	asked := t != nil && (t.BeginRequest != nil || t.EndRequest != nil || t.BeginGroup != nil || t.EndGroup != nil)
	return tracer{trace: t, asked: asked, now: wire.Now, log: log}
}

// begin calls a function of the trace, which may be nil, that begins something. It
// returns the context that what follows is given.
func begin[S any](t *tracer, name string, f func(context.Context, S) context.Context, ctx context.Context, s S) (next context.Context) {
	if next = ctx; f == nil {
		return next
	}
	defer t.log.Catch(name)
	if given := f(ctx, s); given != nil {
		return given
	}
	return next
}

// end calls a function of the trace, which may be nil, that ends something.
func end[S, I any](t *tracer, name string, f func(context.Context, S, I), ctx context.Context, s S, info I) {
	if f != nil {
		defer t.log.Catch(name)
		f(ctx, s, info)
	}
}

// Log returns the client's log, for those that use the client.
func (c *Client) Log() *guard.Log { return c.log }

// tellPool tells the trace that a pool is opened, or that it is closed. It returns what the trace knows the
// pool by, nil without a trace.
func (c *Client) tellPool(info *redislanes.PoolInfo, opened bool) *redislanes.PoolInfo {
	t := c.cfg.Trace
	if t == nil {
		return nil
	}
	name, f := "Trace.PoolClosed", t.PoolClosed
	if opened {
		info.Kind = c.cfg.Pool.WithDefaults(false).Kind
		name, f = "Trace.PoolOpened", t.PoolOpened
	}
	if f != nil {
		c.log.Call(name, func() { f(info) })
	}
	return info
}

// Names of commands for traces. They are looked up when a trace asks for
// them, since most do not.

// A requestName is the name of a request's commands, "" if they have several.
type requestName struct{ of *Request }

func (r requestName) String() string {
	var n naming
	commands := r.of.bounds
	if len(r.of.parts) > 0 {
		commands = r.of.parts
	}
	for _, b := range commands {
		n.add(r.of.arena[b.from:b.to])
	}
	return n.name()
}

// A tripName is the name of a group's commands, "" if they have several.
type tripName struct{ of *trip }

func (t tripName) String() string {
	if t.of.of == nil {
		return "" // asked too late
	}
	var n naming
	for encoded := range t.of.Each(t.of.of.arena) {
		n.add(encoded)
	}
	return n.name()
}

// A naming finds the name that all commands have, beside ASKING. It does not allocate, as it
// would behind an iterator that is passed on.
type naming struct {
	first, called []byte // the first command, and its name
	several       bool
}

// add notes a command.
func (n *naming) add(encoded []byte) {
	name, _ := resp.Argument(encoded, 0)
	switch {
	case string(name) == "ASKING":
	case n.first == nil:
		n.first, n.called = encoded, name
	case !bytes.EqualFold(name, n.called):
		n.several = true
	}
}

// name returns the name; "" if there are several.
func (n *naming) name() string {
	if n.several {
		return ""
	}
	return nameOf(n.first)
}

// nameOf returns the command's name. One that is not in the table and does not look
// like a name may be an argument at the wrong place, which traces must not show.
func nameOf(encoded []byte) string {
	if len(encoded) == 0 {
		return ""
	}
	cmd := command.Of(encoded)
	name := cmd.Name()
	if !cmd.Known() && (len(name) > maxShownName || bytes.ContainsFunc([]byte(name), notOfNames)) {
		return ""
	}
	return name
}

func notOfNames(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}
