package places

import (
	"context"
	"sync"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A keeper renews the holds of a semaphore, and gives back those that could not be given back
// at once. One goroutine does both, while there is something to do.
//
// A hold is due a third of its TTL after it was renewed. Others that will be soon go along. If
// a renewal fails, there is time for another one. Without any, the hold is lost before it
// expires in Redis: here its time counts from when the command was sent.
type keeper struct {
	of    *Semaphore
	life  context.Context // of what run sends; ends with Close
	end   context.CancelFunc
	poke  chan struct{} // tells run that it has to do something sooner
	ended sync.WaitGroup

	mu      sync.Mutex
	held    []*Hold
	leaving []leaving
	running bool
	wake    time.Time // when run looks again
}

// A leaving is a hold that was given up, and may have a place still.
type leaving struct {
	*Hold
	next  time.Time // when it is tried
	until time.Time // when the place has expired
}

func newKeeper(s *Semaphore) *keeper {
	k := &keeper{of: s, poke: make(chan struct{}, 1)}
	k.life, k.end = context.WithCancel(context.Background())
	return k
}

// add renews the hold from now on.
func (k *keeper) add(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h.at, h.next = len(k.held), h.sent.Add(k.of.cfg.TTL/3)
	k.held = append(k.held, h)
	k.startLocked(h.next)
}

// drop reports whether the hold was held, and renews it no more.
func (k *keeper) drop(h *Hold) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dropLocked(h)
}

func (k *keeper) dropLocked(h *Hold) bool {
	if h.at < 0 {
		return false
	}
	last := len(k.held) - 1
	k.held[h.at], k.held[last].at = k.held[last], h.at
	k.held[last] = nil
	k.held, h.at = k.held[:last], -1
	return true
}

// leave gives the hold back in the background.
func (k *keeper) leave(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leaveLocked(h, time.Now())
}

func (k *keeper) leaveLocked(h *Hold, now time.Time) {
	if len(k.leaving) < mostLeaving {
		k.leaving = append(k.leaving, leaving{h, now, now.Add(k.of.cfg.TTL)})
		k.startLocked(now)
	}
}

func (k *keeper) startLocked(next time.Time) {
	if !k.running {
		k.running = true
		k.ended.Go(k.run)
	} else if next.Before(k.wake) {
		select {
		case k.poke <- struct{}{}:
		default:
		}
	}
}

func (k *keeper) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for k.life.Err() == nil {
		r, more := k.plan(time.Now())
		k.tellLost(r.lost)
		switch {
		case !more:
			return
		case len(r.renew)+len(r.leave) > 0:
			k.send(&r)
			continue
		}
		timer.Reset(time.Until(r.wake))
		select {
		case <-timer.C:
		case <-k.poke:
		case <-k.life.Done():
		}
	}
}

// A round is what is sent at a time.
type round struct {
	renew []*Hold
	leave []leaving
	lost  []*Hold
	wake  time.Time     // when there is more to do
	limit time.Duration // of the trip: a silent server must not make other holds late, nor their loss
}

// plan returns what is to be done now, and whether there is anything, now or later.
func (k *keeper) plan(now time.Time) (r round, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ttl := k.of.cfg.TTL
	r.wake, r.limit = now.Add(ttl), ttl/6
	k.expireLocked(now, &r)
	due := false
	for _, h := range k.held {
		due = due || !h.next.After(now)
		r.at(h.next)
		r.at(h.ends())
		r.limit = min(r.limit, h.ends().Sub(now))
	}
	for _, h := range k.held {
		if due && !h.next.After(now.Add(ttl/12)) {
			r.renew = append(r.renew, h)
		}
	}
	later := k.leaving[:0]
	for _, h := range k.leaving {
		switch {
		case !h.until.After(now):
			continue
		case !h.next.After(now):
			r.leave = append(r.leave, h)
			continue
		}
		later = append(later, h)
		r.at(h.next)
	}
	clear(k.leaving[len(later):])
	k.leaving, k.wake = later, r.wake
	k.running = len(k.held)+len(k.leaving)+len(r.leave) > 0
	return r, k.running
}

func (r *round) at(t time.Time) {
	if t.Before(r.wake) {
		r.wake = t
	}
}

// expireLocked drops what was not renewed in time.
func (k *keeper) expireLocked(now time.Time, r *round) {
	for i := len(k.held) - 1; i >= 0; i-- {
		if h := k.held[i]; !h.ends().After(now) {
			k.dropLocked(h)
			k.leaveLocked(h, now)
			r.lost = append(r.lost, h)
		}
	}
}

func (k *keeper) send(r *round) {
	ctx, cancel := context.WithTimeout(k.life, r.limit)
	defer cancel()
	p := k.of.pipe()
	defer k.of.unpipe(p)
	renewed, left := make([]pipeline.Reply, len(r.renew)), make([]pipeline.Reply, len(r.leave))
	for i, h := range r.renew {
		renewed[i] = h.append(p)
	}
	for i, h := range r.leave {
		left[i] = h.giveUp(p)
	}
	began := time.Now()
	_ = p.Do(ctx) // each reply has its error
	k.tellLost(k.note(r, renewed, left, began, time.Now()))
}

func (k *keeper) note(r *round, renewed, left []pipeline.Reply, began, now time.Time) (lost []*Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ttl := k.of.cfg.TTL
	for i, h := range r.renew {
		reply, err := replyOf(renewed[i])
		switch {
		case h.at < 0: // it was released meanwhile, perhaps before it was renewed
			k.leaveLocked(h, now)
		case err != nil:
			h.next = now.Add(ttl / 6)
		case reply.taken:
			h.sent, h.next = began, began.Add(ttl/3)
		default: // Redis has lost it, and others have taken the place
			k.dropLocked(h)
			lost = append(lost, h)
		}
	}
	for i, h := range r.leave {
		if left[i].Err() != nil {
			h.next = now.Add(ttl / 12)
			k.leaving = append(k.leaving, h)
		}
	}
	return lost
}

func (k *keeper) tellLost(holds []*Hold) {
	for _, h := range holds {
		close(h.lost)
		k.of.ended(true)
	}
}

// close gives everything back, for a budget at most. No call is inside.
func (k *keeper) close() {
	k.end()
	k.ended.Wait()
	k.mu.Lock()
	held, left := k.held, k.leaving
	k.held, k.leaving = nil, nil
	for _, h := range held {
		h.at = -1
	}
	k.mu.Unlock()
	if len(held)+len(left) == 0 {
		return
	}
	for _, h := range held {
		close(h.lost) // before others can have its place
	}
	p := k.of.pipe()
	defer k.of.unpipe(p)
	for _, h := range held {
		h.giveUp(p)
	}
	for _, h := range left {
		h.giveUp(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.of.cfg.Budget)
	defer cancel()
	_ = p.Do(ctx) // what fails expires
	for range held {
		k.of.ended(false)
	}
}
