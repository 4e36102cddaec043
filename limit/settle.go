package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// lastTokens stands for where the tokens begin that were taken last.
const lastTokens = -1

// settleAt changes what is counted of the parts to the actual costs, at now.
func (l *Limiter) settleAt(ctx context.Context, now time.Time, parts []part, actual []int64) error {
	var all []owed
	for i := range parts {
		if o, owes := l.adjustment(&parts[i], min(actual[i], mostLimit), now); owes {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if !l.inside.Enter() {
		return errClosed
	}
	done := make(chan error, 1)
	go func() {
		defer l.inside.Leave()
		done <- l.adjust(context.WithoutCancel(ctx), all)
	}()
	patience := time.NewTimer(l.cfg.Budget)
	defer patience.Stop()
	select {
	case err := <-done:
		return err
	case <-patience.C:
		return errSettling
	case <-ctx.Done():
		return fmt.Errorf("limit: settling goes on in the background: %w", context.Cause(ctx))
	}
}

var errSettling = errors.New("limit: settling goes on in the background: Redis has not replied within the budget")

// adjustment returns what is to be given back, or counted, so that the part has the actual
// cost; false if nothing is.
func (l *Limiter) adjustment(p *part, actual int64, now time.Time) (owed, bool) {
	diff := actual - p.counted
	if p.idle || diff == 0 || diff < 0 && p.unsure {
		return owed{}, false
	}
	at, windows := l.windowAt(now, p.limit.rule.Window), int64(p.limit.windows())
	o := owed{of: p.limit, cost: max(diff, -diff), more: diff > 0, near: place{p.limit.headOf(at.number), p.key}}
	if p.limit.rule.Algorithm == TokenBucket {
		o.near.head = p.limit.headOf(0)
		o.draw, o.until = l.tokens(o.near.String(), p, actual, diff), p.until
		if o.more {
			o.until = now.Add(p.limit.rule.full())
		}
		return o, true
	}
	number := p.from
	switch {
	case o.more:
		number = at.number
	case at.number-number >= windows: // the hits do not count any more
		return owed{}, false
	}
	d := draw{counter: true, key: p.limit.headOf(number) + p.key}
	d.args[0] = strconv.FormatInt(diff, 10)
	d.args[1] = strconv.FormatInt(at.ttl(int(windows), l.cfg.Budget).Milliseconds(), 10)
	d.once = marker(p.limit.prefix, d.key)
	o.draw = &d
	o.until = now.Add(at.left() + time.Duration(number+windows-1-at.number)*at.length)
	return o, true
}

// tokens returns the draw for the bucket at the key. What is given back are the last tokens that
// the part has taken.
func (l *Limiter) tokens(key string, p *part, actual, diff int64) *draw {
	kept := float64(actual) * float64(p.limit.rule.Window) / float64(time.Microsecond) / float64(p.limit.rule.Quota)
	d := newDraw(key, &p.limit.rule, diff, l.now(), p.from+int64(kept))
	switch {
	case diff > 0:
		d.charge()
	case p.from == lastTokens:
		d.args[4] = "last"
	}
	d.once = marker(p.limit.prefix, d.key)
	return &d
}

// adjust sends the adjustments. Those that fail are left to the backlog, if they can be
// repeated.
func (l *Limiter) adjust(ctx context.Context, all []owed) error {
	draws := make([]*draw, len(all))
	for i := range all {
		draws[i] = all[i].draw
	}
	l.giveBack(ctx, nil, draws)
	var first error
	failed, repeated := 0, 0
	for _, o := range all {
		err := o.draw.err
		if err == nil {
			l.backlog.taken(&o)
			continue
		}
		if failed++; first == nil {
			first = err
		}
		if l.backlog.add(o, err) {
			repeated++
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("limit: %d of %d costs are not settled; the limiter tries %d of them again in the background: %w", failed, len(all), repeated, first)
}

// full returns how long a bucket may need until it is full.
func (r *Rule) full() time.Duration { return max(r.refill(), r.Window) }
