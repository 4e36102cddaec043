package limit

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// owes reports whether hits have to be given back, and prepares them: those of a
// call that was denied, and of shadow limits that would have denied theirs. What
// remains is as if they were given back already.
func (c *call) owes(l *Limiter) bool {
	back := c.hits[:0]
	c.draws = c.draws[:0]
	for i := range c.asks {
		a := &c.asks[i]
		if a.local != nil && (c.denied || a.look) {
			l.local.give(a.local, &a.limit.rule, a.cost)
		}
		if a.excess > 0 {
			a.returnExcess(l, c.denied)
		}
		if !a.counted || a.stays() || !c.denied && c.each[i].Allowed || a.drawn() == 0 {
			continue
		}
		if d := &c.each[i]; d.Allowed && d.Err == nil {
			d.Remaining = min(d.Remaining+a.cost, a.limit.rule.burst())
			if d.Leased && a.lease.giveBack(a) {
				continue
			}
		}
		if a.limit.rule.Algorithm == TokenBucket {
			a.owed, a.hit = true, len(c.draws)
			from := a.tokens.From
			if a.draw != nil {
				from = a.draw.from
			}
			back := newDraw(a.place.String(), &a.limit.rule, -a.drawn(), l.now(), from)
			c.draws = append(c.draws, &back)
			d := &c.each[i]
			d.ResetAfter = max(0, d.ResetAfter-time.Duration(float64(a.cost)*float64(a.limit.rule.Window)/float64(a.limit.rule.Quota)))
			continue
		}
		a.owed, a.hit = true, len(back)
		back = append(back, a.limit.hit(a.window, a.place.key, -a.cost, l.cfg.Budget))
	}
	c.hits = back
	return len(c.hits)+len(c.draws) > 0
}

// takeBack gives back what the call owes, also if the caller has gone. It waits for that
// as long as the caller has time.
func (l *Limiter) takeBack(ctx context.Context, c *call) Result {
	returned, left := make(chan struct{}), make(chan struct{})
	defer close(left)
	patience := time.NewTimer(l.cfg.Budget - time.Since(c.began))
	defer patience.Stop()
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		l.giveBack(context.WithoutCancel(ctx), c.hits, c.draws)
		select {
		case returned <- struct{}{}:
		case <-left:
			c.settle(l)
			l.done(c)
		}
	}()
	select {
	case <-returned:
		c.settle(l)
		c.correct()
		c.remember(l)
		defer l.done(c)
	case <-patience.C:
	case <-ctx.Done():
	}
	return c.result()
}

// giveBack returns hits and draws. It ends with the limiter, but not with a call.
func (l *Limiter) giveBack(ctx context.Context, hits []pipeline.Hit, draws []*draw) {
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	l.ask(ctx, hits, draws)
}

// settle tells what was given back, and leaves the rest to the backlog.
func (c *call) settle(l *Limiter) {
	for i := range c.asks {
		a := &c.asks[i]
		if !a.owed {
			continue
		}
		o := owed{of: a.limit, cost: a.drawn(), until: c.began.Add(a.window.left())}
		var err error
		if a.limit.rule.Algorithm == TokenBucket {
			if o.draw = c.draws[a.hit]; a.draw != nil {
				o.until = c.began.Add(a.draw.resetAt)
			} else {
				o.until = l.leases.flowIn(a.limit, a.tokens)
			}
			err = o.draw.err
		} else {
			o.hit = c.hits[a.hit]
			err = o.hit.Err
		}
		if a.limit.rule.Algorithm == SlidingWindow {
			o.until = o.until.Add(a.window.length)
		}
		if err != nil {
			l.backlog.add(o, err)
			continue
		}
		l.tell(a.limit, hitsReturned, a.drawn())
	}
}

// correct looks at what the returns have left. A hit that would fit now, behind the earlier ones of its call,
// was denied because of hits of other calls that have been given back since, or will be.
func (c *call) correct() {
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if !a.owed || a.draw != nil || d.Allowed || c.hits[a.hit].Err != nil {
			continue
		}
		used := plus(max(0, c.hits[a.hit].Total), a.window.share(a.before))
		if used <= a.limit.rule.Quota-a.earlier-a.cost {
			a.crowded, d.RetryAfter = true, min(d.RetryAfter, soon)
		}
	}
}

// looksDenied reports whether a look has found a limit that denies its hit.
func (c *call) looksDenied() (denied bool) {
	for i := range c.asks {
		a := &c.asks[i]
		if !a.asked {
			continue
		}
		if c.failure(a) != nil {
			return false
		}
		var d Decision
		a.judge(&d)
		denied = denied || !d.Allowed && !a.limit.rule.Shadow
	}
	return denied
}
