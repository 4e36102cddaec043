package engine

import (
	"context"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
)

// A nodeObservation is what a trace is told of a request to one node, which the
// program has chosen: see [Client.Clients] and [Client.ForEachPrimary].
type nodeObservation struct {
	client    *Client
	addr      string
	request   *bridge.Request // nil: an action that may send any number of commands
	dedicated bool            // it has a connection for itself
	probes    bool            // see bridge.Probes
}

// of performs the request and tells of it, also if the action panics.
func (o nodeObservation) of(ctx context.Context, perform func() error) (err error) {
	c := o.client
	if !c.traced {
		return perform()
	}
	start := redislanes.RequestStart{Dedicated: o.dedicated, Names: o}
	if o.request != nil {
		start.Commands = o.request.Len()
	}
	began := c.now()
	seen := c.beginRequest(ctx, start)
	err = errActionPanicked
	defer func() {
		info := redislanes.RequestInfo{Took: c.now() - began, Commands: start.Commands, Trips: 1, Addr: o.addr}
		if o.dedicated {
			failed(&info, err, start.Commands)
		} else {
			o.outcome(&info, err)
		}
		c.endRequest(seen, start, info)
	}()
	err = perform()
	return err
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
