package limit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/pipeline"
)

// A part is hits of a reservation, or hits that are to be given back.
type part struct {
	limit   *Limit // nil: nothing is to be settled
	key     string
	counted int64        // hits
	unsure  bool         // they may not be counted, and are not given back
	from    int64        // the number of the window that they are counted in
	began   bucket.Start // where their tokens begin
	back    bucket.Mode  // how tokens are given back

	diff int64                    // hits to count; negative: to give back
	send func(*pipeline.Pipeline) // with a marker: however often it is sent, it takes effect once
	read func() error
	err  error
	lost bool // it was told that the hits are lost
}

// settle sends the parts, and again those that fail, until the budget is over or the context ends. left is those that
// certainly had no effect.
func (l *Limiter) settle(ctx context.Context, all []*part) (left []*part, err error) {
	if !l.inside.Enter() {
		return all, errClosed
	}
	defer l.inside.Leave()
	for _, p := range all {
		p.prepare(l)
	}
	own := l.budgets.Begin(ctx, time.Now().Add(min(l.cfg.Budget, returnTime)))
	defer l.budgets.End(own)
	open := l.sendParts(own, all)
	for pause := leastPause; len(open) > 0 && sleep(own, pause); pause *= 2 {
		open = l.sendParts(own, open)
	}
	if len(open) == 0 {
		return nil, nil
	}
	for _, p := range open {
		if !p.lost {
			l.tell(p.limit, hitsLost, max(p.diff, -p.diff))
			p.lost = true
		}
		if cause.MayHaveRun(p.err) {
			err = p.err
			continue
		}
		left, err = append(left, p), cmp.Or(err, p.err)
	}
	return left, fmt.Errorf("limit: %d of %d costs are not settled, and %d of these have an unknown outcome: %w", len(open), len(all), len(open)-len(left), err)
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

// prepare makes the command of the part: hits are counted in the present window, and given back in their own.
func (p *part) prepare(l *Limiter) {
	of, number := p.limit, p.from
	w := of.windowAt(l.servers.at(time.Now()))
	if p.diff > 0 {
		number = of.number(w)
	}
	name, _ := of.names(number, p.key)
	once := marker(of.prefix, name)
	if of.rule.Algorithm == TokenBucket {
		draw := bucket.Draw{Key: name, Rule: of.bucket, Cost: max(p.diff, -p.diff), Mode: bucket.Charge, Once: once, Now: l.clock()}
		if p.diff < 0 {
			draw.Mode, draw.From = p.back, of.bucket.After(p.began, p.counted+p.diff)
		}
		p.send = draw.Append
		p.read = func() error {
			draw.Read()
			return draw.Err
		}
		return
	}
	args := []string{strconv.FormatInt(p.diff, 10), strconv.FormatInt(of.ttl(w, l.cfg.Budget).Milliseconds(), 10)}
	var reply pipeline.Reply
	p.send = func(to *pipeline.Pipeline) {
		reply = to.Eval(counterScript, []string{name, once}, args...).Fast().Idempotent()
	}
	p.read = func() error { return reply.Err() }
}

// sendParts sends the parts in one pipeline, and returns those that failed.
func (l *Limiter) sendParts(ctx context.Context, all []*part) (failed []*part) {
	pipe := l.pipe()
	defer l.unpipe(pipe)
	for _, p := range all {
		p.send(pipe)
	}
	_ = pipe.Do(ctx) // each command has its error
	for _, p := range all {
		err := p.read()
		if err == nil {
			p.settled(l)
			continue
		}
		failed = append(failed, p)
		if p.err == nil || !cause.MayHaveRun(p.err) { // an unknown outcome stays one
			p.err = err
		}
	}
	return failed
}

// settled tells that Redis has taken it. The near cache need not deny what fits now.
func (p *part) settled(l *Limiter) {
	l.tell(p.limit, hitsCounted, p.diff)
	l.tell(p.limit, hitsReturned, -p.diff)
	c := l.counts.of(p.limit, p.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.diff < 0 && c.is(p.limit, p.key) && c.number == p.from {
		c.word.used = max(0, c.word.used+p.diff)
		c.word.full = max(0, c.word.full-p.limit.bucket.Flow(-p.diff))
	}
}
