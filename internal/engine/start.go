package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// start fetches the first map of the slots. What will pass, such as a server
// that is loading its data, is waited for.
func (r *refresher) start(ctx context.Context) error {
	var unready error // says more than an attempt that the context's end cuts off
	for attempts := 0; ; attempts++ {
		err := r.refresh(ctx)
		switch {
		case err != nil && ctx.Err() != nil && unready != nil:
			return fmt.Errorf("%w; the context ended before one was ready: %w", unready, ctx.Err())
		case err == nil || ctx.Err() != nil || !willPass(err):
			return err
		}
		r.client.log.Note(guard.NotReady, err)
		unready = err
		_ = r.client.wait(ctx, startPause(attempts), nil) // the next attempt ends at once if the context has ended
	}
}

// startPause returns how long to wait after so many attempts of a client that starts.
func startPause(attempts int) time.Duration {
	limit := min(minStartBackoff<<min(attempts, 10), maxStartBackoff)
	return limit/2 + rand.N(limit/2)
}

// willPass reports whether any server has said that it is not ready for now.
func willPass(err error) bool {
	var all *cause.Unreachable
	if !errors.As(err, &all) {
		return false
	}
	return slices.ContainsFunc(all.Causes, func(told cause.OfAddr) bool {
		refused := wire.Refusal(told.Err)
		return errors.Is(told.Err, redislanes.ErrRefused) || errors.Is(told.Err, wire.ErrCredentials) ||
			refused != nil && wire.Passes(refused) && fate.Of([]byte(wire.RefusalText(refused))) != fate.Unlisted
	})
}
