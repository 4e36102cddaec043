package limit

import (
	"cmp"
	"context"
	"errors"
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

// A reading is what a server's clock said when the process's clock said local.
type reading struct {
	local, server time.Time
	trip          time.Duration // the error is half of it at most
}

// at returns the servers' time at a moment of the process. Steps of the process's clock do not
// change it: the time since the reading is monotonic.
func (s *serverTime) at(now time.Time) time.Time {
	if s == nil {
		return now
	}
	r := s.known.Load()
	if r == nil {
		return now
	}
	return r.server.Add(now.Sub(r.local))
}

// read asks all primaries, and keeps the reading of the clock in the middle. Without one it returns
// why, and whether all primaries that answered refuse TIME.
func (s *serverTime) read(ctx context.Context, timeout time.Duration) (refused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var mu sync.Mutex
	var all []reading
	refusals, others := 0, 0 // errors that primaries replied with
	err = s.client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		r, err := s.ask(ctx, node)
		said, replied := cause.FateOf(err)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			all = append(all, r)
		case said == fate.NoPermission, said == fate.Unknown:
			refusals++
		case replied:
			others++
		}
		return err
	})
	if len(all) == 0 {
		return refusals > 0 && others == 0, cmp.Or(err, errNoPrimary)
	}
	r := middle(all)
	s.known.Store(&r)
	return false, nil
}

func (s *serverTime) ask(ctx context.Context, node radix.Client) (best reading, err error) {
	for i := range readings {
		began := s.local()
		var parts []int64 // seconds and microseconds
		if err := node.Do(ctx, radix.Cmd(&parts, "TIME")); err != nil {
			return best, err
		}
		if len(parts) != 2 {
			return best, fmt.Errorf("limit: the reply to TIME has %d elements, want 2", len(parts))
		}
		trip := s.local().Sub(began)
		if i == 0 || trip < best.trip {
			best = reading{began.Add(trip / 2), time.Unix(parts[0], parts[1]*1000), trip}
		}
	}
	return best, nil
}

// middle returns the reading of the clock that is neither early nor late among them. So one wrong
// clock among three moves no window.
func middle(all []reading) reading {
	slices.SortFunc(all, func(a, b reading) int { return cmp.Compare(a.ahead(), b.ahead()) })
	return all[(len(all)-1)/2]
}

func (r reading) ahead() time.Duration { return r.server.Sub(r.local) }

func (s *serverTime) keep(ctx context.Context) {
	pause := readEvery
	if s.known.Load() == nil {
		pause = readAgain
	}
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = readEvery
		if _, err := s.read(ctx, readAgain); err != nil {
			pause = readAgain
		}
	}
}

// startServerTime fails if the servers refuse TIME. That no server answers now is logged.
func (l *Limiter) startServerTime(client *cluster.Client, local func() time.Time) error {
	s := &serverTime{client: client, local: local}
	switch refused, err := s.read(l.life, l.cfg.Budget); {
	case refused:
		return fmt.Errorf("limit: Config.ServerTime = true: the servers refuse TIME: allow it to the user, or leave ServerTime out: %w", err)
	case err != nil:
		(*engine.Client)(client).Log().Note(logs.OwnClock, err)
	}
	s.ended.Go(func() { s.keep(l.life) })
	l.servers = s
	return nil
}

var errNoPrimary = errors.New("limit: no primary is known")
