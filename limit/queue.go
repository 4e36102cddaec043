package limit

import (
	"math"
	"slices"
	"sync"
	"time"
)

// A queue is the callers of Wait on one key, in their order. A goroutine serves them while there are any.
type queue struct {
	limiter *Limiter
	count   *count

	mu      sync.Mutex
	waiting []*waiter
	serving bool
	taken   int64         // hits that are taken ahead for them
	changed chan struct{} // the first caller has left, or the key was reset
}

// queue returns the queue of the count.
func (c *count) queue(l *Limiter) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiters == nil {
		c.waiters = &queue{limiter: l, count: c, changed: make(chan struct{}, 1)}
	}
	return c.waiters
}

// join has a caller wait.
func (q *queue) join(w *waiter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= mostWaiting {
		return ErrQueueFull
	}
	if after := q.after(w); !w.until.IsZero() && time.Until(w.until) < after {
		return &WaitError{After: after}
	}
	q.waiting = append(q.waiting, w)
	if !q.serving {
		q.serving = true
		q.limiter.inside.Stay()
		go q.serve()
	}
	return nil
}

// leave takes a caller out of the queue, and reports whether it waited still.
func (q *queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// change has the goroutine that serves look again.
func (q *queue) change() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// after returns how long the caller would wait, as far as is known: at least as long as those before it.
func (q *queue) after(w *waiter) time.Duration {
	ahead := w.cost - q.taken
	for _, other := range q.waiting {
		ahead += other.cost
	}
	c, of := q.count, q.count.limit
	at := time.Now()
	now, window := q.limiter.age(at), of.windowAt(q.limiter.servers.at(at))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.word.at == 0 || c.number != of.number(window) {
		return 0
	}
	if of.rule.Algorithm == TokenBucket {
		return of.bucket.RetryAfter(c.word.full-(now-c.word.at), ahead)
	}
	if c.free(of.room(&c.word, window, now)) >= ahead {
		return 0
	}
	return c.retryAfter(&c.word, window, now, w.cost)
}

// serve takes hits for those that wait, until nobody does.
func (q *queue) serve() {
	defer q.limiter.inside.Leave()
	serve := q.inWindow
	if q.count.limit.rule.Algorithm == TokenBucket {
		serve = q.ahead
	}
	for !q.idle() {
		if err := serve(q.wanted(math.MaxInt64)); err != nil {
			q.fail(err)
		}
		q.sleep(min(lull, q.count.limit.bucket.Flow(q.count.limit.rule.burst())/4))
	}
}

// idle reports whether nobody waits. Then the goroutine ends.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serving = len(q.waiting) > 0
	return !q.serving
}

// wanted returns how many hits those that wait need: of a bucket all of them, of a window the first one and as
// many others as the limit and most allow.
func (q *queue) wanted(most int64) (n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if rule := &q.count.limit.rule; rule.Algorithm != TokenBucket {
		most = min(most, rule.Quota)
	}
	for _, w := range q.waiting {
		if n > 0 && n+w.cost > most {
			break
		}
		n += w.cost
	}
	return n
}

// ahead takes tokens of a bucket for those that wait, and hands them out as they flow in. The next ones are taken
// when these are gone: so many travel together, and processes take turns. Times are measured from the reply, which
// is too late rather than too early.
func (q *queue) ahead(n int64) error {
	h := q.ask(kindCharge, n)
	if h.err != nil {
		return h.err
	}
	defer q.keep(0)
	of, began := q.count.limit.bucket, time.Now()
	for given := int64(0); given < n; {
		w := q.keep(n - given)
		if w == nil || given+w.cost > n {
			q.giveBack(h, n-given, given)
			return nil
		}
		at := began.Add(of.RetryAfter(h.word.full-of.Flow(h.behind+n-given-w.cost), 0))
		late := !w.until.IsZero() && at.After(w.until)
		if !late && !q.sleep(time.Until(at)) {
			q.giveBack(h, n-given, given)
			return errClosed
		}
		switch early := time.Now().Before(at); {
		case late && q.leave(w):
			w.granted <- &WaitError{After: time.Until(at)}
		case !late && !early && q.leave(w):
			given += w.cost
			w.granted <- nil
		}
	}
	return nil
}

// inWindow takes hits of a window for those that wait. If not even the first one fits, it waits until that may.
func (q *queue) inWindow(n int64) error {
	h := q.ask(kindTake, n)
	of := q.count.limit
	if h.err == nil && !h.applied {
		room := of.room(&h.word, h.window, h.word.at)
		first := q.first()
		if first != nil && room < first.cost {
			q.count.mu.Lock()
			t := q.count.retryAfter(&h.word, h.window, q.limiter.age(time.Now()), first.cost)
			q.count.mu.Unlock()
			return q.pause(t)
		}
		if n = q.wanted(room); n == 0 {
			return nil
		}
		h = q.ask(kindTake, n)
	}
	switch now := of.windowAt(q.limiter.servers.at(time.Now())); {
	case h.err != nil || !h.applied:
		return h.err
	case now.Number != h.window.Number: // the reply was late
		q.giveBack(h, n, 0)
		return nil
	}
	for w := q.first(); w != nil && w.cost <= n; w = q.first() {
		if q.leave(w) {
			n -= w.cost
			w.granted <- nil
		}
	}
	q.giveBack(h, n, 0)
	return nil
}

// pause waits. Callers that cannot wait for so long leave at once.
func (q *queue) pause(t time.Duration) error {
	at := time.Now().Add(t)
	q.mu.Lock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiter) bool {
		late := !w.until.IsZero() && at.After(w.until)
		if late {
			w.granted <- &WaitError{After: t}
		}
		return late
	})
	q.mu.Unlock()
	if !q.sleep(t) {
		return errClosed
	}
	return nil
}

func (q *queue) first() *waiter { return q.keep(0) }

// keep notes how many hits are taken ahead, and returns the first caller.
func (q *queue) keep(taken int64) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = taken
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// fail ends the wait of all.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		w.granted <- err
	}
	q.waiting = nil
}

// ask asks Redis for hits.
func (q *queue) ask(k kind, n int64) *hit {
	l := q.limiter
	now := time.Now()
	w := q.count.limit.windowAt(l.servers.at(now))
	q.count.mu.Lock()
	q.count.roll(w, l.age(now))
	q.count.mu.Unlock()
	hits := []hit{{kind: k, count: q.count, window: w, cost: n}}
	l.ask(hits)
	h := &hits[0]
	if h.err == nil && (h.applied || k == kindCharge) {
		l.tell(q.count.limit, hitsCounted, n)
	}
	return h
}

// giveBack gives back hits that nobody waits for any more, behind the first ones.
func (q *queue) giveBack(h *hit, n, behind int64) {
	if n > 0 {
		from := q.count.limit.bucket.After(h.from, behind)
		q.limiter.background([]hit{{kind: kindReturn, count: q.count, window: h.window, cost: n, from: from}}, q.limiter.returned)
	}
}

// sleep waits, or until something changes, and reports whether the limiter is still open.
func (q *queue) sleep(t time.Duration) bool {
	timer := time.NewTimer(max(0, t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.changed:
	case <-q.limiter.closing:
		return false
	}
	return true
}
