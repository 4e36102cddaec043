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

// read asks all primaries, and keeps the reading of the clock in the middle. It reports whether a
// server has answered.
func (s *serverTime) read(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var mu sync.Mutex
	var all []reading
	_ = s.client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		r, err := s.ask(ctx, node)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, r)
		}
		return err
	})
	if len(all) == 0 {
		return false
	}
	r := middle(all)
	s.known.Store(&r)
	return true
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
		if pause = readEvery; !s.read(ctx, readAgain) {
			pause = readAgain
		}
	}
}

func (l *Limiter) startServerTime(client *cluster.Client, local func() time.Time) {
	s := &serverTime{client: client, local: local}
	s.read(l.life, l.cfg.Budget)
	s.ended.Go(func() { s.keep(l.life) })
	l.servers = s
}
