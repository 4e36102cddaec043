package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A lending performs an action on a connection of its own. That a connection
// cannot be had, or that the server refuses the action, is tried again as for
// other commands; once the action has begun, only if it may be performed twice
// and the server says that it did not run.
type lending struct {
	client   *Client
	action   radix.Action
	slot     int32
	how      How
	canRetry bool

	to        *pool.Pool // nil: to be chosen by the map
	asking    bool
	redirects int
	retries   int
}

func (l *lending) run(ctx context.Context) error {
	for {
		conn, err := l.lend(ctx)
		if err != nil {
			if !l.mayLendAgain(ctx, err) {
				return err
			}
			continue
		}
		err = l.perform(ctx, conn)
		if err == nil || !l.follow(ctx, err) {
			return err
		}
	}
}

// lend gets a connection: from where a redirect pointed, or by the map.
func (l *lending) lend(ctx context.Context) (*pool.Lent, error) {
	if l.to == nil {
		t := l.client.topology.Load()
		if t.primary(l.slot) == nil {
			return nil, fmt.Errorf("cluster: %w", noOwnerError(l.slot))
		}
		l.to = l.client.poolFor(t, l.slot, l.how)
	}
	return l.to.Lend(ctx)
}

func (l *lending) perform(ctx context.Context, conn *pool.Lent) error {
	defer conn.Return()
	return lanes.Perform(ctx, l.action, lentConn{conn, l.asking})
}

// mayLendAgain waits and reports whether another connection may be asked for.
func (l *lending) mayLendAgain(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !l.client.mayTryAgain(err) {
		return false
	}
	l.to, l.asking = nil, false
	return l.backOff(ctx)
}

func (l *lending) backOff(ctx context.Context) bool {
	if l.retries++; l.retries > l.client.cfg.MaxRetries {
		return false
	}
	return wait(ctx, backoff(l.retries)) == nil
}

// follow judges the server's error. It reports whether the action is to be
// performed again.
func (l *lending) follow(ctx context.Context, err error) bool {
	var reply resp3.SimpleError
	if !errors.As(err, &reply) {
		return false
	}
	switch to := classify([]byte(reply.S), l.to.Address()); to.verdict {
	case moved, ask:
		n := l.client.followed(to)
		if n == nil || !l.canRetry || l.redirects >= l.client.cfg.MaxRedirects {
			return false
		}
		l.redirects++
		if to.verdict == moved {
			l.client.learn([]move{{to.slot, n}})
		}
		l.to, l.asking = n.pool(asPrimary), to.verdict == ask
		return true
	case final, noScript:
		return false
	case readOnly:
		if !l.how.replica {
			l.to.Renew()
		}
		l.how.replica = false
		l.client.hint()
	case down:
		l.client.hint()
	}
	if !l.canRetry || ctx.Err() != nil {
		return false
	}
	l.client.counters.refused.Add(1)
	l.to, l.asking = nil, false
	return l.backOff(ctx)
}
