package limit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/fate"
	logs "github.com/redislanes/redislanes/internal/guard"
)

// serverTime knows the time of the servers, for [Config.ServerTime]. A call reads one pointer; a
// goroutine asks the servers now and then. Until something is known, it is the clock of the process.
type serverTime struct {
	known atomic.Pointer[reading]
	ended sync.WaitGroup
}

// A reading is what a server's clock said when the process's clock said local, or up to half a round trip before or after.
type reading struct{ local, server time.Time }

// at returns the servers' time at a moment of the process. Steps of the process's clock do not
// change it: the time since the reading is monotonic.
func (s *serverTime) at(now time.Time) time.Time {
	if r := s.known.Load(); r != nil {
		return r.server.Add(now.Sub(r.local))
	}
	return now
}

// readTime asks all primaries, and keeps the reading of the clock in the middle. local is the clock of the process.
func (l *Limiter) readTime(timeout time.Duration, local func() time.Time) error {
	ctx, cancel := context.WithTimeout(l.life, timeout)
	defer cancel()
	var mu sync.Mutex
	var all []reading
	err := l.client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		_ = node.Do(ctx, radix.Cmd(nil, "TIME")) // dials if need be, which takes longer than the trip that is measured
		began := local()
		var parts []int64 // seconds and microseconds
		err := node.Do(ctx, radix.Cmd(&parts, "TIME"))
		switch trip := local().Sub(began); {
		case err != nil:
			return err
		case len(parts) != 2:
			return fmt.Errorf("limit: the reply to TIME has %d elements, want 2", len(parts))
		default:
			mu.Lock()
			defer mu.Unlock()
			all = append(all, reading{began.Add(trip / 2), time.Unix(parts[0], parts[1]*1000)})
			return nil
		}
	})
	if len(all) == 0 {
		return err
	}
	l.servers.known.Store(middle(all))
	return nil
}

// middle returns the reading of the clock that is neither early nor late among them. So one wrong
// clock among three moves no window.
func middle(all []reading) *reading {
	slices.SortFunc(all, func(a, b reading) int { return cmp.Compare(a.ahead(), b.ahead()) })
	return &all[(len(all)-1)/2]
}

func (r reading) ahead() time.Duration { return r.server.Sub(r.local) }

// startServerTime fails if the servers refuse TIME. That no server answers now is logged.
func (l *Limiter) startServerTime(local func() time.Time) error {
	err := l.readTime(l.cfg.Budget, local)
	switch said, _ := cause.FateOf(err); {
	case said == fate.NoPermission, said == fate.Unknown:
		return fmt.Errorf("limit: Config.ServerTime = true: the servers refuse TIME: allow it to the user, or leave ServerTime out: %w", err)
	case err != nil:
		(*engine.Client)(l.client).Log().Note(logs.OwnClock, err)
	}
	l.servers.ended.Go(func() {
		for sleep(l.life, readEvery) {
			_ = l.readTime(readEvery, local) // without a new reading the last one counts
		}
	})
	return nil
}
