package engine

import (
	"context"
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
)

// errActionPanicked tells a trace that the action of a request has panicked. The caller gets the
// panic itself.
var errActionPanicked = errors.New("redislanes: the action panicked")

// observeAction performs a request that is not sent in groups of an [execution]. It tells a trace of the
// request, also if the action panics. outcome adds what became of it.
func (c *Client) observeAction(ctx context.Context, start redislanes.RequestStart, perform func() error, outcome func(*redislanes.RequestInfo, error)) (err error) {
	if !c.traced {
		return perform()
	}
	began := c.now()
	seen := c.beginRequest(ctx, start)
	err = errActionPanicked
	defer func() {
		info := redislanes.RequestInfo{Took: c.now() - began, Commands: start.Commands}
		outcome(&info, err)
		c.endRequest(seen, start, info)
	}()
	err = perform()
	return err
}

// run performs the action, and tells a trace of it.
func (d *dedicatedAction) run(ctx context.Context) error {
	start := redislanes.RequestStart{Commands: d.commands, Dedicated: true, Names: d}
	return d.client.observeAction(ctx, start, func() error { return d.perform(ctx) }, func(info *redislanes.RequestInfo, err error) {
		info.Trips, info.Retries, info.Redirects = d.history.Tries, d.retries, d.redirects
		if d.to != nil {
			info.Addr = d.to.Address()
		}
		failed(info, err, d.commands)
	})
}

// A nodeObservation is what a trace is told of a request to one node, which the
// program has chosen: see [Client.Clients] and [Client.ForEachPrimary].
type nodeObservation struct {
	client    *Client
	addr      string
	request   *bridge.Request // nil: an action that may send any number of commands
	dedicated bool            // it has a connection for itself
	probes    bool            // see bridge.Probes
}

// of performs the request and tells of it.
func (o nodeObservation) of(ctx context.Context, perform func() error) (err error) {
	start := redislanes.RequestStart{Dedicated: o.dedicated, Names: o}
	if o.request != nil {
		start.Commands = o.request.Len()
	}
	return o.client.observeAction(ctx, start, perform, func(info *redislanes.RequestInfo, err error) {
		info.Trips, info.Addr = 1, o.addr
		if o.dedicated {
			failed(info, err, start.Commands)
		} else {
			o.outcome(info, err)
		}
	})
}

// outcome is that of a request over shared connections. What is only not what its
// receiver takes has not failed.
func (o nodeObservation) outcome(info *redislanes.RequestInfo, err error) {
	if info.Failed, info.Code = o.request.Failed(); info.Failed == 0 {
		return
	}
	if o.probes && info.Code == noScriptCode {
		info.Failed, info.Code = 0, ""
		return
	}
	info.Outcome = redislanes.OutcomeFailed
	if worst, _ := outcomeOfAction(err); worst > redislanes.OutcomeFailed {
		info.Outcome, info.Code, info.Err = worst, "", err
	}
}
