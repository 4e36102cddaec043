package limit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/pipeline"
)

// An owed is what is to be given back, or counted, so that a part has its actual cost.
type owed struct {
	part   *part
	actual int64

	diff    int64    // hits to count; negative: to give back
	number  int64    // of the window
	name    string   // of the key
	args    []string // of the counter's script
	draw    bucket.Draw
	reply   pipeline.Reply
	once    string // the marker: however often it is sent, it takes effect once
	sent    moment
	doubted moment // when the first try with an unknown outcome was sent
	lost    bool   // it was told that it may be lost
	err     error
}

// settle sends what is owed, and again what fails, until the budget is over or the context ends. left is what
// may be tried again later.
func (l *Limiter) settle(ctx context.Context, now time.Time, all []*owed) (left []*owed, err error) {
	if !l.inside.Enter() {
		return all, errClosed
	}
	defer l.inside.Leave()
	open := slices.DeleteFunc(slices.Clone(all), func(o *owed) bool { return !o.prepare(l, now) })
	own := l.budgets.Begin(ctx, time.Now().Add(min(l.cfg.Budget, returnTime)))
	defer l.budgets.End(own)
	for pause := leastPause; ; pause *= 2 {
		again := slices.DeleteFunc(slices.Clone(open), func(o *owed) bool { return !o.mayRepeat() })
		if len(again) == 0 || pause > leastPause && !sleep(own, pause/2) {
			break
		}
		l.sendOwed(own, again)
		open = slices.DeleteFunc(open, func(o *owed) bool { return o.settled(l) })
	}
	if len(open) == 0 {
		return nil, nil
	}
	first := open[0].err
	for _, o := range open {
		if !o.lost {
			o.lost = true
			l.tell(o.part.limit, hitsLost, max(o.diff, -o.diff))
		}
		if o.mayRepeat() {
			left = append(left, o)
		}
	}
	return left, fmt.Errorf("limit: %d of %d costs are not settled, and %d of these cannot be any more: %w", len(open), len(all), len(open)-len(left), first)
}

// sleep waits, and reports false if the context ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// prepare decides what to send, unless it may have run: then the same is sent again. It reports false if
// there is nothing to do, at now.
func (o *owed) prepare(l *Limiter, now time.Time) bool {
	if !o.doubted.isZero() {
		return true
	}
	p, of := o.part, o.part.limit
	if o.diff = o.actual - p.counted; p.idle || o.diff == 0 || o.diff < 0 && p.unsure {
		return false
	}
	at := of.windowAt(l.servers.at(now))
	o.number = p.from
	if o.diff > 0 {
		o.number = of.number(at)
	}
	o.name, _ = of.names(o.number, p.key)
	o.once = marker(of.prefix, o.name)
	if of.rule.Algorithm == TokenBucket {
		o.draw = bucket.Draw{Key: o.name, Rule: of.bucket, Cost: max(o.diff, -o.diff), Mode: bucket.Charge, Once: o.once, Now: l.now()}
		switch {
		case o.diff < 0 && p.last:
			o.draw.Mode = bucket.Last
		case o.diff < 0:
			o.draw.Mode, o.draw.From = bucket.Return, of.bucket.After(p.began, o.actual)
		}
		return true
	}
	if o.diff < 0 && at.Number-o.number >= int64(of.windows()) { // the hits do not count any more
		return false
	}
	o.args = []string{strconv.FormatInt(o.diff, 10), strconv.FormatInt(ttl(at, of.windows(), l.cfg.Budget).Milliseconds(), 10)}
	return true
}

// sendOwed sends all in one pipeline. Each has its error.
func (l *Limiter) sendOwed(ctx context.Context, all []*owed) {
	p := l.pipe()
	defer l.unpipe(p)
	for _, o := range all {
		if o.sent = present(); o.draw.Key != "" {
			o.draw.Append(p)
		} else {
			o.reply = p.Eval(counterScript, []string{o.name, o.once}, o.args...).Fast().Idempotent()
		}
	}
	_ = p.Do(ctx)
	for _, o := range all {
		if o.draw.Key != "" {
			o.draw.Read()
			o.err = o.draw.Err
		} else {
			_, o.err = o.reply.Int()
		}
		if o.err != nil && !didNotRun(o.err) && o.doubted.isZero() {
			o.doubted = o.sent
		}
	}
}

// settled reports whether Redis has taken it, and tells it. Then the near cache need not deny what fits now.
func (o *owed) settled(l *Limiter) bool {
	if o.err != nil {
		return false
	}
	of := o.part.limit
	if o.diff > 0 {
		l.tell(of, hitsCounted, o.diff)
	} else {
		l.tell(of, hitsReturned, -o.diff)
	}
	c := l.counts.of(of, o.part.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := &c.word; c.number == o.number && !x.at.IsZero() {
		x.used = max(0, x.used+o.diff)
		if of.rule.Algorithm == TokenBucket {
			x.full = max(0, x.full-of.bucket.Flow(max(0, -o.diff)))
		}
	}
	return true
}

// mayRepeat reports whether it may be sent again: it has not run, or Redis would still know that it has.
func (o *owed) mayRepeat() bool {
	if said, ok := cause.FateOf(o.err); ok && said.Hopeless() {
		return false
	}
	return o.doubted.isZero() || o.doubted.age() < repeatTime
}

// A moment is a time by both clocks of the process. The monotonic one stands still while the machine is suspended,
// and the other one may be set.
type moment struct{ monotonic, wall time.Time }

func present() moment {
	now := time.Now()
	return moment{now, now.Round(0)}
}

func (m moment) isZero() bool { return m.monotonic.IsZero() }

// age returns how long ago it was, by the clock that says more.
func (m moment) age() time.Duration { return max(time.Since(m.monotonic), time.Since(m.wall)) }
