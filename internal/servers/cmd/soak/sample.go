package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
)

// A footprint is what a process uses.
type footprint struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heapBytes"`
}

func measure() footprint {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), m.HeapAlloc}
}

const settleTime = 5 * time.Second

// settle waits until there are no more goroutines than that, for those that
// have been told to end, and measures after garbage collections.
func settle(goroutines int) footprint {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	for waiting := goroutines > 0; waiting && runtime.NumGoroutine() > goroutines; {
		select {
		case <-look.C:
		case <-limit.C:
			waiting = false
		}
	}
	runtime.GC()
	runtime.GC() // the first one only empties what sync.Pools hold
	return measure()
}

// A sampler looks at the process each second. It also notes how late goroutines
// are that only wait for their contexts' deadlines: what callers overrun by as
// much is the machine's doing.
type sampler struct {
	done     chan struct{}
	wait     sync.WaitGroup
	peak     footprint
	stopBare func()
	lateness [servers.BareWaits]overruns
}

func startSampler(began time.Time, during *atomic.Pointer[string]) *sampler {
	s := &sampler{done: make(chan struct{})}
	s.wait.Go(s.watch)
	s.stopBare = servers.StartBareWaits(func(i int, deadline, back time.Time) {
		s.lateness[i].add(overrun{back.Sub(deadline), back.Sub(began), *during.Load()})
	})
	return s
}

func (s *sampler) watch() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		f := measure()
		s.peak.Goroutines, s.peak.Heap = max(s.peak.Goroutines, f.Goroutines), max(s.peak.Heap, f.Heap)
		select {
		case <-second.C:
		case <-s.done:
			return
		}
	}
}

func (s *sampler) end(r *report) {
	close(s.done)
	s.wait.Wait()
	s.stopBare()
	r.Peak = s.peak
	var all overruns
	for i := range s.lateness {
		all.merge(&s.lateness[i])
	}
	r.BareWaits = all.summary()
}
