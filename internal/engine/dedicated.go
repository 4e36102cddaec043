package engine

import (
	"context"
	"errors"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A dedicatedAction performs an action on a connection of its own. If no connection can be had,
// or the server refuses the action, it tries again as for other commands. Once the action has
// begun, it tries again only if the action may be performed twice and did not run.
type dedicatedAction struct {
	client   *Client
	action   radix.Action
	slot     int32
	how      How
	canRetry bool
	commands int    // that are known of it
	encoded  []byte // the one command that it is; nil if it may send several
	once     bool   // it is one exchange: it has not run if each of its commands was refused

	table     *topology      // in use when the last try was made
	to        *nodepool.Node // nil: to be chosen by the map
	replica   *node          // whose pool it is; nil: a primary's
	avoid     []*node        // replicas that have not answered
	asking    bool
	history   history
	began     time.Time // when the first try ended
	seen      seen      // in the last try
	performed time.Time // when that began

	ranIn              int // the number of the first try that ran commands
	retries, redirects int // why there were more tries than one
}

// perform tries until the action was performed, or has failed for good.
func (d *dedicatedAction) perform(ctx context.Context) error {
	for {
		d.history.Tries++
		conn, err := d.connect(ctx)
		again := false
		if err == nil {
			if err = d.performOn(ctx, conn); err == nil {
				d.succeeded()
				return nil
			}
			if !fate.Of([]byte(saidIn(err))).Passes() {
				d.history.Answered() // or the command fails for another reason
			}
			again = d.follow(ctx, err)
			d.noteRan(err)
		} else {
			d.client.noteFailure(err)
			again = d.mayConnectAgain(ctx, err)
		}
		if !again {
			return d.explain(d.outcome(err))
		}
	}
}

// noteRan notes that the try which ended with the error has run commands: whatever becomes
// of the next try, the action has not come to nothing.
func (d *dedicatedAction) noteRan(err error) {
	if d.seen.wrote && !d.history.unknown.Any() {
		d.history.unknown.Note(errors.New("commands of the first try ran: " + err.Error()))
		d.ranIn = d.history.Tries
	}
}

// outcome returns the error of the action whose last try ended with err. An error of the
// action's own stands.
func (d *dedicatedAction) outcome(err error) error {
	unknown := &d.history.unknown
	if !unknown.Any() || d.ranIn == d.history.Tries || !errors.Is(err, redislanes.ErrNotSent) && !errors.Is(err, redislanes.ErrRefused) {
		return err
	}
	return unknown.Error(err)
}

// connect gets a connection: from where a redirect pointed, or by the map.
func (d *dedicatedAction) connect(ctx context.Context) (*nodepool.Dedicated, error) {
	if d.to == nil {
		t := d.client.topology.Load()
		d.table = t
		if t.Primary(d.slot) == nil {
			return nil, wire.NotSent("", t.Map.NoOwnerError(d.slot))
		}
		d.to, d.replica = d.client.poolFor(t, d.slot, d.how, d.avoid)
	}
	return d.to.Dedicate(ctx)
}

func (d *dedicatedAction) performOn(ctx context.Context, conn *nodepool.Dedicated) error {
	defer conn.Return()
	shared := new(sharedSeen)
	d.performed = time.Now()
	err := bridge.Perform(ctx, d.action, dedicatedConn{conn, d.client, d.asking, shared})
	d.seen = shared.soFar()
	return err
}

// succeeded notes what the action's commands have proved.
func (d *dedicatedAction) succeeded() {
	d.client.answered(d.to.Address(), d.slot, d.seen.wrote)
}

// explain adds to the error how long the action was tried. An error that the function has made,
// has wrapped, or has got from another call stays as it is: programs compare it.
func (d *dedicatedAction) explain(err error) error {
	known := wire.Top(err)
	if known == nil || known.Tries > 0 || d.to != nil && known.Addr != "" && known.Addr != d.to.Address() {
		return err
	}
	took := time.Duration(0)
	if !d.began.IsZero() {
		took = time.Since(d.began)
	}
	named := wire.Named(known.Command, known.Addr, err)
	d.history.explain(named, d.began, took)
	return named
}

// mayConnectAgain waits and reports whether another connection may be asked for.
func (d *dedicatedAction) mayConnectAgain(ctx context.Context, err error) bool {
	addr := ""
	if d.to != nil {
		addr = d.to.Address()
	}
	f := d.client.failure(addr, d.slot, err, time.Now())
	f.Replica = d.replica != nil
	f.Final = f.Final && !f.Replica || isFinal(err, false) || ctx.Err() != nil
	return d.again(ctx, f, wasNotSent)
}

// again applies the rule for retries: it waits and reports whether there is
// to be another try. What a replica does not answer is another one's or the primary's.
func (d *dedicatedAction) again(ctx context.Context, f attempt.Failure, because why) bool {
	if f.Final {
		return false
	}
	d.client.hint()
	if d.began.IsZero() {
		d.began = f.At
	}
	d.history.hops = 0
	replica, window := d.replica, d.client.cfg.RetryWindow
	d.to, d.replica, d.asking = nil, nil, false
	switch d.history.Next(f, window) {
	case attempt.OtherReplica:
		d.avoid = append(d.avoid, replica)
	case attempt.Retry:
		if d.client.wait(ctx, attempt.Backoff(d.history.met(), d.history.Left(f.At, window)), d.moved) != nil {
			return false
		}
	default:
		return false
	}
	d.countAgain(because)
	return true
}

// moved is [retry.moved] for the action.
func (d *dedicatedAction) moved() bool {
	return movedBetween(d.table, d.client.topology.Load(), d.slot)
}

// follow judges the server's error, or that one exchange was not sent. It reports whether the
// action is to be performed again.
func (d *dedicatedAction) follow(ctx context.Context, err error) bool {
	addr := d.to.Address()
	text, said := saidBy(addr, err)
	if !said {
		return d.once && !d.seen.some && d.seen.unsent && d.mayConnectAgain(ctx, err)
	}
	to := slots.ParseRedirect(text, addr)
	switch to.Fate {
	case fate.Moved, fate.Ask, fate.Nowhere:
		if to.Fate != fate.Ask {
			d.client.hint()
		}
		if d.slot != int32(to.Slot) { // see retry.follow
			return false
		}
		place := d.client.dialAddr(to)
		if to.Fate = to.From(addr, place); to.Fate == fate.Moved || to.Fate == fate.Ask {
			n := (*node)(nil)
			if place != "" && d.history.hops < mostRedirects {
				n = d.client.node(place)
			}
			if n != nil {
				return d.redirect(to, n)
			}
			to.Fate = fate.Nowhere // see retry.follow
		}
	case fate.ReadOnly:
		d.how.Replicas = false // no replica writes
	}
	replaced := d.client.replaceStale(d.to, to.Fate, text, d.replica != nil, d.performed)
	if !to.Fate.Passes() {
		return false
	}
	if !d.mayRepeat() || d.seen.wrote && to.Fate != fate.Itself || ctx.Err() != nil { // CanRetry is about redirects
		d.client.hint()
		return false
	}
	if replaced && to.Fate == fate.Itself && d.history.hops < mostRedirects { // see retry.judgeRefusal
		d.history.hops++
		d.to, d.replica, d.asking = nil, nil, false
		d.countAgain(wasRefused)
		return true
	}
	d.history.replica = to.Fate == fate.ReadOnly && d.client.topology.Load().Single
	return d.again(ctx, d.client.refused(to.Fate, text, addr, d.slot, d.replica != nil, time.Now()), wasRefused)
}

// mayRepeat tells whether the action that the server refused may be performed
// again.
func (d *dedicatedAction) mayRepeat() bool { return d.canRetry || d.once && !d.seen.some }

// redirect notes where a redirect points: to n, or nowhere. It reports whether the action may be
// performed there.
func (d *dedicatedAction) redirect(to slots.Redirect, n *node) bool {
	c := d.client
	if n != nil && to.Fate == fate.Moved {
		c.learn([]move{{Slot: to.Slot, To: n}})
	}
	if n == nil || !d.mayRepeat() {
		return false
	}
	d.table = c.topology.Load()
	d.history.hops++
	d.history.followed++
	d.to, d.replica, d.asking = n.pool(asPrimary), nil, to.Fate == fate.Ask
	if d.asking {
		d.countAgain(wasAsked)
	} else {
		d.countAgain(wasMoved)
	}
	return true
}

// countAgain counts one more try.
func (d *dedicatedAction) countAgain(w why) {
	d.client.counters.count(w)
	if w.redirects() {
		d.redirects++
	} else {
		d.retries++
	}
}
