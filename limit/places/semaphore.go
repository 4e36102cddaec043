package places

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/gate"
)

// A Semaphore limits how many holders a key has at a time. Make it with [Config.New]. All methods
// are safe for concurrent use.
//
// Each key is a sorted set in Redis. Each Hold has a goroutine that renews it.
type Semaphore struct {
	cfg    Config
	client *engine.Client
	head   string    // of all its keys
	args   [2]string // of the script
	pipes  sync.Pool // of *pipeline.Pipeline
	inside gate.Gate
	holds  sync.WaitGroup  // the goroutines of holds
	life   context.Context // ends when Close has waited for running calls
	end    context.CancelFunc
}

// A Decision is what an Acquire has decided.
type Decision struct {
	Allowed bool

	// Free is how many places of the key are free now.
	Free int64

	// RetryAfter is 0 if Allowed or Err is set. Otherwise it is a second, since holders end at
	// any time.
	RetryAfter time.Duration

	// Err is why Redis did not decide. Config.FailClosed then did, and there is no Hold.
	Err error
}

// Config returns the semaphore's settings, with defaults in place of zero values.
func (s *Semaphore) Config() Config {
	if s == nil {
		return Config{}
	}
	return s.cfg
}

// Acquire takes a place of the key, if fewer than Config.Max are taken. The caller must call
// [Hold.Release] when it is done. The place is renewed until then, and [Hold.Lost] tells if that fails.
//
// Acquire does not wait for a place. It returns after the budget or half of the TTL, whichever is
// less, or at the context's end, at the latest. If Redis has not decided by then, the decision has the
// error, and FailClosed decides. The Hold is nil if there is no place: if the decision denies, or
// has an error. The methods of a nil Hold do nothing.
func (s *Semaphore) Acquire(ctx context.Context, key string) (*Hold, Decision) {
	switch {
	case s == nil || s.life == nil:
		return nil, Decision{Err: errNotMade}
	case ctx == nil:
		return nil, Decision{Err: errNilContext}
	}
	began := time.Now()
	h, d := s.acquire(ctx, key, began)
	if o := s.cfg.Observer; o != nil {
		s.client.Log().Call("places.Observer.Acquired", func() { o.Acquired(time.Since(began), s, d) })
	}
	return h, d
}

func (s *Semaphore) acquire(ctx context.Context, key string, began time.Time) (*Hold, Decision) {
	if !s.inside.Enter() {
		return nil, Decision{Err: errClosed, Allowed: !s.cfg.FailClosed}
	}
	defer s.inside.Leave()
	h := &Hold{of: s, key: s.head + key, id: rand.Text(), lost: make(chan struct{}), freed: make(chan struct{})}
	held, err := h.take(ctx, began.Add(min(s.cfg.Budget, s.cfg.TTL/2)))
	switch {
	case err != nil:
		if cause.MayHaveRun(err) {
			s.holds.Go(h.giveBack)
		}
		return nil, Decision{Err: err, Allowed: !s.cfg.FailClosed}
	case held == 0:
		return nil, Decision{RetryAfter: pause}
	}
	life, release := context.WithCancel(s.life)
	h.release = release
	s.holds.Go(func() { h.keep(life, began) })
	return h, Decision{Allowed: true, Free: max(0, s.cfg.Max-held)}
}

// Close waits for running calls and releases the places that are left, for the budget at most. Later calls
// are decided without Redis, with redislanes.ErrClosed.
func (s *Semaphore) Close() error {
	if s == nil || s.life == nil {
		return errNotMade
	}
	s.inside.Close()
	s.end()
	s.holds.Wait()
	return nil
}

// ended tells the observer about a place.
func (s *Semaphore) ended(lost bool) {
	if o := s.cfg.Observer; o != nil {
		s.client.Log().Call("places.Observer.Ended", func() { o.Ended(s, lost) })
	}
}

var (
	errNotMade    = errors.New("places: the Semaphore was not made by Config.New: use one that it returned without an error")
	errNilContext = errors.New("places: the context is nil: pass one, such as context.Background()")
	errClosed     = fmt.Errorf("redislanes: the Semaphore is %w", redislanes.ErrClosed)
)
