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

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/fate"
	logs "github.com/redislanes/redislanes/internal/guard"
)

// serverTime knows the time of the servers, for [Config.ServerTime]. A call reads one pointer; a
// goroutine asks the servers now and then. A nil serverTime is the clock of the process.
type serverTime struct {
	client *cluster.Client
	local  func() time.Time // the clock of the process
	known  atomic.Pointer[reading]
	ended  sync.WaitGroup
}

// A reading is what a server's clock said when the process's clock said local, or up to half a round trip before or after.
type reading struct{ local, server time.Time }

// at returns the servers' time at a moment of the process. Steps of the process's clock do not
// change it: the time since the reading is monotonic.
func (s *serverTime) at(now time.Time) time.Time {
	if s != nil {
		if r := s.known.Load(); r != nil {
			return r.server.Add(now.Sub(r.local))
		}
	}
	return now
}

// read asks all primaries, and keeps the reading of the clock in the middle.
func (s *serverTime) read(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var mu sync.Mutex
	var all []reading
	err := s.client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		_ = node.Do(ctx, radix.Cmd(nil, "TIME")) // dials if need be, which takes longer than the trip that is measured
		began := s.local()
		var parts []int64 // seconds and microseconds
		err := node.Do(ctx, radix.Cmd(&parts, "TIME"))
		switch trip := s.local().Sub(began); {
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
	s.known.Store(middle(all))
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
func (l *Limiter) startServerTime(client *cluster.Client, local func() time.Time) error {
	s := &serverTime{client: client, local: local}
	err := s.read(l.life, l.cfg.Budget)
	switch said, _ := cause.FateOf(err); {
	case said == fate.NoPermission, said == fate.Unknown:
		return fmt.Errorf("limit: Config.ServerTime = true: the servers refuse TIME: allow it to the user, or leave ServerTime out: %w", err)
	case err != nil:
		(*engine.Client)(client).Log().Note(logs.OwnClock, err)
	}
	s.ended.Go(func() {
		for sleep(l.life, readEvery) {
			_ = s.read(l.life, readEvery) // without a new reading the last one counts
		}
	})
	l.servers = s
	return nil
}
