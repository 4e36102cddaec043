package places

import (
	"context"
	"time"
)

// A Hold is a place that [Semaphore.Acquire] has taken. All methods are safe for concurrent
// use, and do nothing for a nil or zero Hold.
type Hold struct {
	of      *Semaphore
	key, id string
	release context.CancelFunc // ends keep
	lost    chan struct{}
	freed   chan struct{} // closed at the end of keep
}

// Release gives the place back. It returns when the place is free, or after the semaphore's
// budget: then the semaphore tries again until the place has expired. Only the first call does
// something, and none after the semaphore's Close or once the place is lost.
func (h *Hold) Release() {
	if h == nil || h.of == nil {
		return
	}
	h.release()
	select {
	case <-h.freed:
	case <-h.lost:
	case <-time.After(h.of.cfg.Budget):
	}
}

// Lost returns a channel that is closed when the place is lost: no renewal has succeeded for 95 % of
// the TTL, Redis has lost it and others have taken it, or the semaphore was closed. If renewals
// fail, it is closed before another holder can get the place, unless this process was suspended
// then. If the cluster loses acknowledged writes, or the server's clock jumps forward, others may
// have the place before. Release does not close it. The channel of a nil Hold is nil.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// keep renews the place until the context ends, by Release or by Close, or until the place is lost.
// Then it gives the place back. The place was taken by a command of the time sent.
func (h *Hold) keep(ctx context.Context, sent time.Time) {
	defer close(h.freed)
	defer h.release()
	lost := h.renew(ctx, sent)
	if lost || h.of.life.Err() != nil {
		close(h.lost) // before others can have the place
	}
	h.of.ended(lost)
	h.giveBack()
}

// renew renews the place after each third of its TTL. A renewal that fails is tried again after a sixth. It
// reports whether the place was lost before the context ended: after 95 % of the TTL without a renewal. The rest
// of the TTL is for the time that it takes to tell, and for clocks of different speeds.
func (h *Hold) renew(ctx context.Context, sent time.Time) (lost bool) {
	ttl := h.of.cfg.TTL
	next, end := sent.Add(ttl/3), sent.Add(ttl-ttl/20)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Until(next)):
		}
		now := time.Now()
		if !now.Before(end) {
			return true
		}
		next = now.Add(min(ttl/6, end.Sub(now)))
		held, err := h.take(h.of.life, next)
		switch {
		case err == nil && held == 0: // Redis has lost the place, and others have taken it
			return true
		case err == nil:
			next, end = now.Add(ttl/3), now.Add(ttl-ttl/20)
		}
	}
}

// giveBack frees the place. It tries until the place has expired, and after the semaphore's Close once more.
func (h *Hold) giveBack() {
	s := h.of
	for expires := time.Now().Add(s.cfg.TTL); time.Now().Before(expires); {
		if h.free() == nil || s.life.Err() != nil {
			return
		}
		select {
		case <-s.life.Done():
		case <-time.After(pause):
		}
	}
}
