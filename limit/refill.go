package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/pipeline"
)

// A refill is hits that a lease asks for, and what Redis has granted.
type refill struct {
	lease   *keyLease
	window  window
	n       int64
	ample   bool          // far more remain
	lasts   time.Duration // for which they are enough
	sent    bool
	granted int64
	excess  int64 // hits that Redis has counted beyond the limit
	free    int64 // hits that Redis could still grant
	tokens  lease.Stretch
	err     error
	ended   chan struct{} // the lease's refilled
}

// refillHits asks Redis for hits: a share of what remains, at most.
func (l *Limiter) refillHits(ctx context.Context, r *refill) error {
	k, w, limit := r.lease, r.window, r.lease.limit.rule.Quota
	before, err := l.hitsBefore(ctx, k.limit, w, k.key)
	if err != nil {
		return err
	}
	r.sent = true
	share, now := w.share(before), int64(0)
	r.granted, now, err = l.countFitting(ctx, k.limit, w, k.key, r.n, limit-share, lease.Share)
	r.free = limit - plus(share, now+r.granted)
	return err
}

// countHits counts the hits of refills as those of calls are counted, which costs Redis less than
// scripts.
func (l *Limiter) countHits(ctx context.Context, all []*refill) {
	var hits []pipeline.Hit
	for _, r := range all {
		r.sent = true
		hits = r.lease.limit.appendHits(hits, r.window, r.lease.key, r.n, l.cfg.Budget)
	}
	_ = l.counters.Hit(ctx, hits) // each hit has its error
	for _, r := range all {
		n := r.lease.limit.windows()
		r.counted(hits[:n])
		hits = hits[n:]
	}
}

// counted notes the outcome of a refill's hits. Those that are over the limit are to be returned. That is
// rare: far more were free.
func (r *refill) counted(hits []pipeline.Hit) {
	switch {
	case hits[0].Err != nil:
		r.err = hits[0].Err
		return
	case len(hits) == 2 && hits[1].Err != nil: // how many are free is not known
		r.excess = r.n
		return
	}
	used := max(hits[0].Total, r.n) // less was given back from a key that was lost before
	if len(hits) == 2 {
		used = plus(used, r.window.share(hits[1].Total))
	}
	r.free = r.lease.limit.rule.Quota - used
	r.excess = min(r.n, max(0, -r.free))
	r.granted = r.n - r.excess
}

// drawTokens asks Redis for tokens. The time when their stretch begins is measured from when
// Redis was asked, which is too early rather than too late.
func (l *Limiter) drawTokens(ctx context.Context, all []*refill) {
	p := l.pipe()
	defer l.unpipe(p)
	asked, replies := time.Since(l.leases.epoch), make([]pipeline.Reply, len(all))
	for i, r := range all {
		d := newDraw(r.key(), &r.lease.limit.rule, r.n, l.now(), 0)
		d.args[4] = "lease"
		args := append(d.args[:], strconv.Itoa(lease.Share), strconv.FormatInt(max(1000, r.lasts.Microseconds()), 10))
		r.sent, replies[i] = true, evalFast(p, bucketScript, d.key, args)
	}
	_ = p.Do(ctx) // each reply has its error
	for i, r := range all {
		var numbers []int64
		if numbers, r.err = numbersOf(replies[i], 5); r.err == nil {
			r.granted, r.free = numbers[0], numbers[1]
			r.tokens = lease.Stretch{At: asked + time.Duration(numbers[2])*time.Microsecond, From: numbers[4], N: r.granted}
		}
	}
}

// evalFast appends a script that takes microseconds: it must not queue behind scripts that do not.
func evalFast(p *pipeline.Pipeline, s *pipeline.Script, key string, args []string) pipeline.Reply {
	return p.Eval(s, []string{key}, args...).Fast()
}

// numbersOf returns the numbers that a script has replied with. There must be n.
func numbersOf(reply pipeline.Reply, n int) (numbers []int64, err error) {
	if err = reply.Into(&numbers); err == nil && len(numbers) != n {
		err = fmt.Errorf("limit: the script has replied with %d numbers, want %d", len(numbers), n)
	}
	return numbers, err
}

// filled puts what was granted into the lease. It returns what comes too late for that and is to be given
// back. What comes after its window has ended is lost.
func (l *Limiter) filled(r *refill) (late []owed) {
	k, unused := r.lease, int64(0)
	counted, lost := r.granted+r.excess, int64(0)
	k.mu.Lock()
	switch {
	case k.number != k.limit.number(r.window): // also after Reset, which has deleted the key
		unused, r.excess = counted, 0
	case k.over:
		if r.granted > 0 {
			late = []owed{k.owed(l, r)}
		}
	case r.err != nil:
		k.Failed()
	default:
		k.Filled(r.granted, r.free)
		if k.line != nil && r.granted > 0 {
			unused = k.line.Add(r.tokens)
			k.Lose(unused)
		}
	}
	back := k.appendOwed(nil, l, r.window, r.excess)
	if close(r.ended); k.refilled == r.ended { // else that of a later window
		k.refilled = nil
	}
	k.mu.Unlock()
	l.handBack(back)
	if r.err != nil && r.sent && !didNotRun(r.err) {
		counted, lost = r.n, r.n // at most
	}
	l.tellSome(k.limit, hitsCounted, counted)
	l.tellSome(k.limit, hitsLeased, counted)
	l.tellSome(k.limit, hitsLost, lost)
	l.tellSome(k.limit, hitsUnused, unused)
	return late
}

func (k *keyLease) owed(l *Limiter, r *refill) owed {
	if k.line != nil {
		return k.owedTokens(l, r.tokens)
	}
	return k.owedHits(l, r.window, r.granted)
}

func (l *Limiter) tellSome(of *Limit, what string, n int64) {
	if n > 0 {
		l.tell(of, what, n)
	}
}
