package engine

import (
	"context"

	"github.com/redislanes/redislanes/internal/wire"
)

// A nodeObservation is what an observer is told of a request to one node, which the
// program has chosen: see [Client.Clients] and [Client.ForEachPrimary].
type nodeObservation struct {
	client  *Client
	addr    string
	request *wire.Request // nil: an action that may send any number of commands
	lent    bool          // it has a connection to itself, of which only ContextObservers are told
	probes  bool          // see wire.Probes
}

// of performs the request and tells of it.
func (o nodeObservation) of(ctx context.Context, perform func() error) error {
	c := o.client
	if o.lent && c.cfg.Contexts == nil || !c.sampled() {
		return perform()
	}
	start := RequestStart{Lent: o.lent, Names: o}
	if o.request != nil {
		start.Commands = o.request.Len()
	}
	began := c.now()
	seen := c.beginRequest(ctx, start)
	err := perform()
	info := RequestInfo{Took: c.now() - began, Commands: start.Commands, Trips: 1, Addr: o.addr}
	if o.lent {
		info.failed(err, start.Commands)
	} else {
		o.outcome(&info, err)
	}
	c.endRequest(seen, start, info)
	return err
}

// outcome is that of a request over shared connections. What is only not what its
// receiver takes has not failed.
func (o nodeObservation) outcome(info *RequestInfo, err error) {
	if info.Failed, info.Code = o.request.Failed(); info.Failed == 0 {
		return
	}
	if o.probes && info.Code == noScriptCode {
		info.Failed, info.Code = 0, ""
		return
	}
	info.Outcome = OutcomeError
	if worst, _ := outcomeOfAction(err); worst > OutcomeError {
		info.Outcome, info.Code, info.Err = worst, "", err
	}
}

// CommandName returns the name of the request's commands, "" if they have several,
// or if they are not known.
func (o nodeObservation) CommandName() string {
	var n commonName
	if o.request == nil {
		return ""
	}
	for i := range o.request.Len() {
		from, to := o.request.Bounds(i)
		if !n.add(o.request.Encoded()[from:to]) {
			break
		}
	}
	return n.name()
}
