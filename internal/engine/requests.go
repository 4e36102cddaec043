package engine

import (
	"context"
	"slices"

	"github.com/redislanes/redislanes/internal/wire"
)

// Requests are executed at the same time by one goroutine, each as if alone: what
// becomes of one is known when it has ended, and not when all have. The zero value is
// empty, and is used again after Reset. It is not safe for concurrent use, but for
// [Requests.Early].
type Requests struct {
	call  *wire.Call
	all   []*Request
	done  []bool
	trips []*trip
	mine  []*wire.Batch

	abandoned bool // the context has ended before some trips had
}

// Reset makes it empty. No ExecAll may be under way.
func (rs *Requests) Reset() {
	clear(rs.all)
	clear(rs.trips)
	clear(rs.mine)
	rs.all, rs.trips, rs.mine = rs.all[:0], rs.trips[:0], rs.mine[:0]
	if rs.call == nil || rs.abandoned { // lanes may still hold it
		rs.abandoned = false
		rs.call = wire.NewCall()
	}
	rs.call.Begin(0)
}

// Add adds a request that has commands, of which none is unknown.
func (rs *Requests) Add(r *Request) { rs.all = append(rs.all, r) }

// Early has ExecAll tell of each request as soon as it has ended, and not when it is
// awake for another reason: of the last one, or of trouble. Somebody else may call
// it while ExecAll is under way.
func (rs *Requests) Early() { rs.call.Early() }

// ExecAll executes the requests, and calls ended once for each, with its number. One
// that is not finished has commands that may be sent again, or the context has ended:
// [Client.Finish] must be called for it, before or after ExecAll has returned. The
// error is that of [Client.Exec]; then ended is not called.
func (c *Client) ExecAll(ctx context.Context, rs *Requests, ended func(i int, finished bool)) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	for _, r := range rs.all {
		if r.err != nil {
			return r.err
		}
	}
	rs.done = grown(rs.done, len(rs.all))
	for _, r := range rs.all {
		f := c.prepare(ctx, r)
		f.shared = rs.call
		trips, placed := c.place(r, f, How{})
		f.shared, f.open, r.placed = nil, true, placed
		if f.observed != nil {
			f.observed.begin(r, trips)
		}
		rs.trips = append(rs.trips, trips...)
	}
	rs.mine = submit(ctx, rs.call, rs.trips, rs.mine)
	c.awaitAll(ctx, rs, ended)
	return nil
}

// awaitAll tells of the requests, as they end.
func (c *Client) awaitAll(ctx context.Context, rs *Requests, ended func(i int, finished bool)) {
	for left := len(rs.all); left > 0; {
		complete, err := rs.call.Next(ctx, nil)
		for i, r := range rs.all {
			if rs.done[i] {
				continue // it may be somebody else's by now
			}
			f := r.flight
			if complete || f.complete() {
				f.open = false
			} else if err != nil {
				f.leave(err)
			} else {
				if f.troubled() {
					rs.Early() // it ends with its last trip, whatever the others do
				}
				continue
			}
			rs.done[i] = true
			left--
			if r.clean = r.placed && !f.abandoned && f.clean(); r.clean {
				c.end(r)
			}
			ended(i, r.clean)
		}
		rs.abandoned = rs.abandoned || err != nil
	}
}

// Finish does for a request of ExecAll what [Client.Exec] does after the first
// wave, if that was not all.
func (c *Client) Finish(ctx context.Context, r *Request) {
	r.flight.call.Begin(0)
	again := retry{client: c, request: r, flight: r.flight}
	again.run(ctx)
	c.end(r)
}

// complete reports whether all trips are complete.
func (f *flight) complete() bool {
	return !slices.ContainsFunc(f.trips[:f.used], func(t *trip) bool { return !t.Complete() })
}

// troubled reports whether a trip has ended in trouble.
func (f *flight) troubled() bool {
	return slices.ContainsFunc(f.trips[:f.used], func(t *trip) bool { return t.Troubled() })
}
