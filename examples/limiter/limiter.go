// Package limiter is a small rate limiter with a fault, and a test in a simulated
// cluster that finds it. docs/testing.md explains both.
package limiter

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// A Limiter allows Limit hits on a key within Window of the first one.
type Limiter struct {
	Client *cluster.Client
	Limit  int64
	Window time.Duration
	Resend bool // the fault
}

// Allow counts a hit and reports whether it is allowed.
func (l *Limiter) Allow(ctx context.Context, key string) (bool, error) {
	total, err := l.count(ctx, key)
	if l.Resend && errors.Is(err, redislanes.ErrUnknownOutcome) {
		total, err = l.count(ctx, key) // the first hit may have been counted
	}
	return err == nil && total <= l.Limit, err
}

func (l *Limiter) count(ctx context.Context, key string) (int64, error) {
	p := pipeline.New(l.Client)
	p.Cmd("SET", key, "0", "PX", strconv.FormatInt(l.Window.Milliseconds(), 10), "NX")
	total := p.IncrBy(key, 1)
	if err := p.Do(ctx); err != nil {
		return 0, err
	}
	return total.Int()
}
