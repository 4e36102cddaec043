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
func (c *Client) start(ctx context.Context) error {
	var unready error // says more than an attempt that the context's end cuts off
	for attempts := 0; ; attempts++ {
		err := c.refresher.refresh(ctx)
		switch {
		case err != nil && ctx.Err() != nil && unready != nil:
			return fmt.Errorf("%w; the context ended before one was ready: %w", unready, ctx.Err())
		case err == nil || ctx.Err() != nil || !willPass(err):
			return err
		}
		c.log.Note(guard.NotReady, err)
		unready = err
		_ = c.wait(ctx, startPause(attempts), nil) // the next attempt ends at once if the context has ended
	}
}

// startPause returns how long to wait after so many attempts of a client that starts.
func startPause(attempts int) time.Duration {
	limit := min(minStartBackoff<<min(attempts, 10), maxStartBackoff)
	return limit/2 + rand.N(limit/2)
}

// started refuses calls for as long as there is no map of the slots.
func (c *Client) started() error {
	if c.topology.Load().Map != nil {
		return nil
	}
	if err := c.notStarted.Load(); err != nil {
		return &redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: *err}
	}
	return &redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: errors.New("no server has answered yet")}
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

var (
	errClosed  = fmt.Errorf("redislanes: the client is %w", redislanes.ErrClosed)
	errNotMade = errors.New("cluster: the Client was not made with New or Config.New: use one that they returned without an error")
)

// Made reports whether New has made the client.
func (c *Client) Made() bool { return c != nil && c.ctx != nil }

// Usable refuses what no call can work with.
func (c *Client) Usable(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	return c.started()
}

// open refuses what has no use even before there is a map. Only a client that New
// has made has a context.
func (c *Client) open(ctx context.Context) error {
	switch {
	case !c.Made():
		return fmt.Errorf("%w: %w", errNotMade, redislanes.ErrNotSent)
	case ctx == nil:
		return wire.NotSent("", cause.ErrNilContext)
	case c.ctx.Err() != nil:
		return errClosed
	}
	return nil
}

// current returns the topology. A client that was not made is a mistake in the
// program, and methods without an error say so in a panic.
func (c *Client) current() *topology {
	if !c.Made() {
		panic(errNotMade.Error())
	}
	return c.topology.Load()
}
