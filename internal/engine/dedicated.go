package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A lending performs an action on a connection of its own. That a connection
// cannot be had, or that the server refuses the action, is tried again as for
// other commands; once the action has begun, only if it may be performed twice
// and the server says that it did not run.
type lending struct {
	client   *Client
	action   radix.Action
	slot     int32
	how      How
	canRetry bool
	commands int    // that are known of it
	encoded  []byte // the one command that it is; nil if it may send several
	once     bool   // it is one exchange: it has not run if each of its commands was refused

	to      *nodepool.Node // nil: to be chosen by the map
	replica *node          // whose pool it is; nil: a primary's
	avoid   []*node        // replicas that have not answered
	asking  bool
	history history
	began   time.Time     // when the first try ended
	had     time.Duration // what the context left then
	seen    seen          // in the last try
	sent    uint64        // when that began, see outages.events

	retries, redirects int
	redirected         bool         // the last try is where a redirect pointed
	doubted            int          // the number of the first try that ran commands
	told               *observation // whom it tells of its groups; nil: nobody is told
}

func (l *lending) run(ctx context.Context) error {
	if !l.client.sampled() {
		return l.perform(ctx)
	}
	return l.observed(ctx)
}

// perform tries until the action was performed, or has failed for good.
func (l *lending) perform(ctx context.Context) error {
	for {
		l.history.tries++
		conn, err := l.lend(ctx)
		again := false
		if err == nil {
			if err = l.performOn(ctx, conn); err == nil {
				l.succeeded()
				return nil
			}
			again = l.follow(ctx, err)
			l.noteDoubt(err)
		} else {
			l.client.noteFailure(err)
			again = l.mayLendAgain(ctx, err)
		}
		if !again {
			return l.explain(l.outcome(err))
		}
	}
}

// noteDoubt notes that the try which ended with the error has run commands: whatever becomes
// of the next try, the action has not come to nothing.
func (l *lending) noteDoubt(err error) {
	if l.seen.wrote && !l.history.doubt.Any() {
		l.history.doubt.Note(errors.New("commands of the first try ran: " + err.Error()))
		l.doubted = l.history.tries
	}
}

// outcome returns the error of the action whose last try ended with err. An error of the
// action's own stands.
func (l *lending) outcome(err error) error {
	doubt := &l.history.doubt
	if !doubt.Any() || l.doubted == l.history.tries || !errors.Is(err, redislanes.ErrNotSent) && !errors.Is(err, redislanes.ErrRefused) {
		return err
	}
	return doubt.Unknown(err)
}

// lend gets a connection: from where a redirect pointed, or by the map.
func (l *lending) lend(ctx context.Context) (*nodepool.Dedicated, error) {
	if l.redirected = l.to != nil; !l.redirected {
		t := l.client.topology.Load()
		if t.Primary(l.slot) == nil {
			return nil, fmt.Errorf("redislanes: %w", t.Map.NoOwnerError(l.slot))
		}
		l.to, l.replica = l.client.poolFor(t, l.slot, l.how, l.avoid)
	}
	return l.to.Lend(ctx)
}

func (l *lending) performOn(ctx context.Context, conn *nodepool.Dedicated) error {
	defer conn.Return()
	l.seen, l.sent = seen{refused: l.class()}, l.client.outages.events.Load()
	return wire.Perform(ctx, l.action, dedicatedConn{conn, l.client, l.asking, &l.seen, l.groups(), false})
}

// succeeded notes what the action's commands have proved.
func (l *lending) succeeded() {
	slot := l.slot
	if l.seen.ran == keyless {
		slot = slots.NoKey
	}
	l.client.outages.succeeded(l.to.Address(), l.seen.ran, slot, nil, l.sent)
}

// class is that of an action which has not begun: nobody knows whether it writes.
func (l *lending) class() class {
	if l.slot < 0 {
		return keyless
	}
	return reading
}

// explain adds to the error how long the action was tried.
func (l *lending) explain(err error) error {
	took := time.Duration(0)
	if !l.began.IsZero() {
		took = time.Since(l.began)
	}
	known := wire.Top(err)
	if known == nil { // the function has wrapped it, or made it
		return l.history.explained(err, l.began, took)
	}
	named := wire.Named(known.Command, known.Addr, err)
	l.history.explain(named, l.began, took)
	return named
}

// mayLendAgain waits and reports whether another connection may be asked for.
func (l *lending) mayLendAgain(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !l.client.passes(err, l.replica != nil) {
		return false
	}
	addr := ""
	if l.to != nil {
		addr = l.to.Address()
	}
	now := time.Now()
	return l.again(ctx, l.client.unanswered(err, addr, l.class(), l.slot, now), &l.client.counters.notSent, now)
}

// again applies the rule for all outages: it waits and reports whether there is
// to be another try. What a replica does not answer is another one's or the primary's.
func (l *lending) again(ctx context.Context, t outage, count *atomic.Uint64, now time.Time) bool {
	l.client.hint()
	if l.began.IsZero() {
		l.began, l.had = now, timeLeft(ctx, now)
	}
	l.history.hops, l.history.outage = 0, &t
	replica, grace := l.replica, l.client.cfg.RetryWindow
	l.to, l.replica, l.asking = nil, nil, false
	switch t.Next(replica != nil, now, l.had, grace) {
	case attempt.Turn:
		l.avoid = append(l.avoid, replica)
	case attempt.Retry:
		if l.client.wait(ctx, attempt.Backoff(l.history.tries, grace-now.Sub(t.Since))) != nil {
			return false
		}
	default:
		return false
	}
	count.Add(1)
	l.retries++
	return true
}

// follow judges the server's error. It reports whether the action is to be
// performed again.
func (l *lending) follow(ctx context.Context, err error) bool {
	var reply resp3.SimpleError
	if !errors.As(err, &reply) {
		return false
	}
	addr := l.to.Address()
	to := slots.ParseRedirect([]byte(reply.S), addr)
	switch to.Fate {
	case fate.Moved, fate.Ask, fate.Nowhere:
		place := l.client.leadsTo(to)
		if to.Fate = to.From(addr, place); to.Fate == fate.Moved || to.Fate == fate.Ask {
			return l.redirect(to, place)
		}
		if l.slot != int32(to.Slot) {
			l.client.hint()
			return false
		}
	case fate.ReadOnly:
		l.how.Replicas = false // no replica writes
	}
	if attempt.Stale(to.Fate, []byte(reply.S), l.replica != nil) {
		l.to.Renew()
		l.client.hint()
	}
	if !to.Fate.Passes() {
		return false
	}
	if !l.mayRepeat() || ctx.Err() != nil {
		l.client.hint()
		return false
	}
	now := time.Now()
	l.history.replica = to.Fate == fate.ReadOnly && l.client.topology.Load().Single
	at := siteOf(to.Fate, addr, l.seen.refused, l.slot, nil)
	met := l.client.outages.note(at, wire.ErrorCode([]byte(reply.S)), l.history.since(at), now)
	return l.again(ctx, met, &l.client.counters.refused, now)
}

// mayRepeat tells whether the action that the server refused may be performed
// again.
func (l *lending) mayRepeat() bool { return l.canRetry || l.once && !l.seen.some }

// redirect notes where a redirect points. It reports whether the action may be
// performed there.
func (l *lending) redirect(to slots.Redirect, place string) bool {
	c := l.client
	if to.Fate == fate.Moved {
		c.hint()
	}
	var n *node
	if place != "" {
		n = c.node(place)
	}
	if n != nil && to.Fate == fate.Moved {
		c.learn([]move{{Slot: to.Slot, To: n}})
	}
	if n == nil || !l.mayRepeat() || l.slot != int32(to.Slot) || l.history.hops >= c.cfg.MaxRedirects {
		return false
	}
	if to.Fate == fate.Moved {
		c.counters.moved.Add(1)
	} else {
		c.counters.ask.Add(1)
	}
	l.history.hops++
	l.redirects++
	l.to, l.replica, l.asking = n.pool(asPrimary), nil, to.Fate == fate.Ask
	return true
}
