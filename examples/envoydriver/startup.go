package envoydriver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// A Startup is how New waits for servers that refuse connections or do not answer. It also repeats
// other errors, such as a wrong password. The zero value tries until the context ends. Settings that
// cannot be used are an error at once.
type Startup struct {
	InitialInterval time.Duration // REDIS_STARTUP_INITIAL_INTERVAL: the longest first wait, doubled after each try; default 100 ms
	MaxInterval     time.Duration // REDIS_STARTUP_MAX_INTERVAL: the longest wait of all; default 10 s
	MaxElapsedTime  time.Duration // REDIS_STARTUP_MAX_ELAPSED_TIME: a try that fails later is the last; default no limit
}

func (s *Startup) validate() error {
	if s == nil || min(s.InitialInterval, s.MaxInterval, s.MaxElapsedTime) >= 0 {
		return nil
	}
	return fmt.Errorf("Options.Startup = %+v: must not be negative", *s)
}

// retry calls connect until it succeeds, the context ends or the time is over. It calls
// connect once if s is nil. Each wait is between half of its interval and all of it.
func (s *Startup) retry(ctx context.Context, logger *slog.Logger, connect func() error) error {
	err := connect()
	if s == nil {
		return err
	}
	began, longest := time.Now(), cmp.Or(s.MaxInterval, 10*time.Second)
	interval := min(cmp.Or(s.InitialInterval, 100*time.Millisecond), longest)
	for err != nil && (s.MaxElapsedTime == 0 || time.Since(began) < s.MaxElapsedTime) {
		wait := interval/2 + rand.N(interval/2+1)
		logger.WarnContext(ctx, "envoydriver: no connection to Redis, trying again", "in", wait, "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("envoydriver: startup ended: %w; the last try: %w", context.Cause(ctx), err)
		case <-time.After(wait):
		}
		err = connect()
		interval = min(2*interval, longest)
	}
	return err
}
