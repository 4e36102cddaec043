package limit

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/pipeline"
)

// A backlog has hits that are to be given back and that Redis has not taken yet. It tries
// again until their windows have ended. Only a return that is known not to have run, or that
// takes effect once, is tried again: given back twice, hits would be allowed that are over the
// limit.
type backlog struct {
	give func(hits []pipeline.Hit, draws []*draw)
	tell func(of *Limit, what string, n int64) // calls the program: never with mu held
	near *near

	mu      sync.Mutex
	waiting []owed
	running bool
	closed  chan struct{}
	ended   sync.WaitGroup
}

// An owed is what is to be given back to one key: a hit, or a draw from a bucket.
type owed struct {
	of    *Limit
	cost  int64
	until time.Time // when its window has ended, or its tokens have flowed in
	hit   pipeline.Hit
	draw  *draw
	more  bool      // the hits are to be counted, and not given back
	near  place     // if it is a settlement: the key that the near cache forgets when hits were given back
	lease *keyLease // that returns it; of those for handBack
}

func (o *owed) key() string {
	if o.draw != nil {
		return o.draw.key
	}
	return o.hit.Prefix + o.hit.Key
}

// became says what the hits are once Redis has taken them.
func (o *owed) became() string {
	if o.more {
		return hitsCounted
	}
	return hitsReturned
}

// mayRepeat reports whether it may be sent again after the error, and may succeed then.
func (o *owed) mayRepeat(err error) bool {
	if said, ok := saidBy(err); ok && said.Hopeless() {
		return false
	}
	if o.draw == nil || o.draw.once == "" {
		return didNotRun(err)
	}
	if o.draw.doubted.isZero() && !didNotRun(err) {
		o.draw.doubted = o.draw.sent
	}
	return o.repeats()
}

// repeats reports whether it is known not to have run, or so young that Redis would still know that
// it has.
func (o *owed) repeats() bool {
	return o.draw == nil || o.draw.doubted.isZero() || o.draw.doubted.age() < repeatTime
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

// add takes over what could not be given back because of err, and reports whether it will
// be tried again.
func (b *backlog) add(o owed, err error) bool {
	if o.mayRepeat(err) && b.keep(o) {
		return true
	}
	b.tell(o.of, hitsLost, o.cost)
	return false
}

// keep reports whether there was room.
func (b *backlog) keep(o owed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= mostOwed {
		return false
	}
	b.waiting = append(b.waiting, o)
	if !b.running {
		b.running = true
		b.ended.Go(b.run)
	}
	return true
}

// offer gives back now what was not tried before. What Redis refuses is kept.
func (b *backlog) offer(all []owed) {
	rest, failed := b.try(all, false)
	for _, o := range append(rest, failed...) {
		if !b.keep(o) {
			b.tell(o.of, hitsLost, o.cost)
		}
	}
}

// run tries until nothing is left.
func (b *backlog) run() {
	pause := minOwedPause
	for last := false; ; {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-b.closed:
			last = true
		}
		timer.Stop()
		b.mu.Lock()
		tried := b.waiting
		b.waiting = nil
		b.mu.Unlock()
		rest, failed := b.try(tried, last)
		b.mu.Lock()
		left := slices.Concat(rest, b.waiting, failed)
		over := len(left) == 0 || last && len(b.waiting) == 0 // else calls that Close waits for have added some
		b.waiting = left
		if over {
			b.waiting, b.running = nil, false
		}
		b.mu.Unlock()
		if over {
			for _, o := range left {
				b.tell(o.of, hitsLost, o.cost)
			}
			return
		}
		if pause = min(2*pause, maxOwedPause); len(rest)+len(failed) < len(tried) {
			pause = minOwedPause
		}
	}
}

// try gives back what can be, and returns what has failed and may be tried again. After a failure, the
// rest is not tried, unless all is to be: it comes first the next time, since only one of several
// servers may be away.
func (b *backlog) try(rest []owed, all bool) (_, failed []owed) {
	for len(rest) > 0 && (all || len(failed) == 0) {
		some := rest[:min(len(rest), owedAtOnce)]
		rest = rest[len(some):]
		var hits []pipeline.Hit
		var draws []*draw
		var kept []owed
		for _, o := range some {
			switch {
			case !time.Now().Before(o.until) || !o.repeats():
				b.tell(o.of, hitsLost, o.cost)
				continue
			case o.draw != nil:
				draws = append(draws, o.draw)
			default:
				hits = append(hits, o.hit)
			}
			kept = append(kept, o)
		}
		if len(kept) == 0 {
			continue
		}
		b.give(hits, draws)
		for _, o := range kept {
			err := error(nil)
			if o.draw != nil {
				err = o.draw.err
			} else {
				err, hits = hits[0].Err, hits[1:]
			}
			switch {
			case err == nil:
				b.taken(&o)
			case o.mayRepeat(err):
				failed = append(failed, o)
			default:
				b.tell(o.of, hitsLost, o.cost)
			}
		}
	}
	return rest, failed
}

// taken notes that Redis has taken it.
func (b *backlog) taken(o *owed) {
	b.tell(o.of, o.became(), o.cost)
	if !o.more {
		b.near.forget(o.near)
	}
}

// didNotRun reports whether the error proves that the command did not run: it was not sent, or the server
// has replied with an error such as NOPERM. A reply that cannot be read proves nothing.
func didNotRun(err error) bool {
	switch {
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return false
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused):
		return true
	}
	said, ok := saidBy(err)
	return ok && !said.MayHaveRun()
}

// saidBy judges the error that the server replied with, if it did.
func saidBy(err error) (f fate.Fate, ok bool) {
	var said resp3.SimpleError
	ok = errors.As(err, &said)
	return fate.Of([]byte(said.S)), ok
}
