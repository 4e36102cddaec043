package limit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A WaitError is the error of [Limiter.Wait] for a request that would wait for too long.
type WaitError struct {
	// After is how long the wait would be, as far as is known.
	After time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("limit: the request would wait for %v, which is later than its deadline", e.After.Round(time.Millisecond))
}

// ErrQueueFull is the error of [Limiter.Wait] if 10,000 callers of this process wait for the key already.
var ErrQueueFull = errors.New("limit: 10,000 callers wait for the key already")

// Wait waits until the request's hits fit, counts them, and returns nil. Use it for programs that must pace their
// own calls. Callers of one process get their hits in the order of their calls. Nothing polls: of a bucket, the
// tokens that callers wait for are taken ahead, those of all of them with one command; of a window, the next
// one is waited for.
//
// It returns an error, and counts nothing:
//
//   - a [*WaitError], at once, if the wait cannot end before the context's deadline;
//   - [ErrQueueFull], at once;
//   - the context's error, when it ends;
//   - an error about the request: no limit, a negative cost, more hits than the limit, Look or Charge;
//   - the error of Redis. [Rule.FailClosed] and Config.Instances do not matter.
func (l *Limiter) Wait(ctx context.Context, request Request) error {
	w, err := l.waiter(ctx, &request)
	if err != nil {
		return err
	}
	defer l.inside.Leave()
	q := w.count.queue(l)
	if err := q.join(w); err != nil {
		return err
	}
	select {
	case err := <-w.granted:
		return err
	case <-ctx.Done():
	case <-l.closing:
		err = errClosed
	}
	if q.leave(w) {
		q.change()
		if err == nil {
			err = ctx.Err()
		}
		return err
	}
	return <-w.granted
}

// A waiter is a caller of Wait.
type waiter struct {
	count   *count
	cost    int64
	until   time.Time // its deadline; zero for none
	granted chan error
}

func (l *Limiter) waiter(ctx context.Context, r *Request) (*waiter, error) {
	switch {
	case !l.made():
		return nil, errNotMade
	case ctx == nil:
		return nil, errNilContext
	}
	of, err := l.limitOf(r)
	switch {
	case err != nil:
		return nil, err
	case r.Look || r.Charge:
		return nil, errors.New("limit: Wait with Request.Look or Request.Charge: call Allow")
	case r.cost() > of.rule.burst():
		return nil, fmt.Errorf("limit: Request.Cost = %d of limit %s: never allowed, since it is more than %d", r.cost(), of.rule.Name, of.rule.burst())
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !l.inside.Enter():
		return nil, errClosed
	}
	w := &waiter{count: l.counts.of(of, r.Key), cost: r.cost(), granted: make(chan error, 1)}
	if !w.count.isOf(of, r.Key) {
		w.count = newCount(of, r.Key)
	}
	w.until, _ = ctx.Deadline()
	return w, nil
}
