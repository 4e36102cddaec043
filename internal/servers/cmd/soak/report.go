package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
)

// A report is what a run has measured and found.
type report struct {
	seed                uint64
	took                time.Duration
	faults              map[kind]int
	calls               int64
	acknowledged        int64
	unknown             int64
	lost, clung         int64
	checked, bothBounds int
	worstServed         time.Duration
	stats               redislanes.Stats
	failures            []string
	more                int // failures beyond mostFailures
}

const mostFailures = 50

func (r *report) fail(format string, args ...any) {
	if len(r.failures) == mostFailures {
		r.more++
		return
	}
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// add adds what the callers of an episode, which have ended, counted.
func (r *report) add(l *load) {
	r.calls += l.calls.Load()
	r.lost += l.lost.Load()
	r.clung += l.clung.Load()
	for i := range l.tallies {
		r.acknowledged += l.tallies[i].acknowledged.Load()
		r.unknown += l.tallies[i].unknown.Load()
	}
}

const (
	heapLeak   = 8 << 20 // bytes that may remain
	clungShare = 20      // one call in so many to a lost shard may be late to fail, on a busy machine
)

func (r *report) judge(before, after footprint) {
	if n := after.goroutines - before.goroutines; n > 0 {
		r.fail("%d goroutines leaked", n)
	}
	if after.heap > before.heap+heapLeak {
		r.fail("the heap is %d bytes after closing the client, %d before it was opened", after.heap, before.heap)
	}
	if r.clung*clungShare > r.lost {
		r.fail("%d of %d calls to a lost shard took more than half of their time", r.clung, r.lost)
	}
	if r.checked == 0 {
		r.fail("no key was checked")
	}
}

func (r *report) print(w io.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "seed %d, %v", r.seed, r.took.Round(time.Second))
	for _, k := range slices.Sorted(maps.Keys(r.faults)) {
		line("fault", "%s: %d", k, r.faults[k])
	}
	line("calls", "%d, %.0f/s", r.calls, float64(r.calls)/r.took.Seconds())
	line("INCRBY", "acknowledged %d, unknown %d", r.acknowledged, r.unknown)
	line("keys checked", "%d, %d of them for both bounds", r.checked, r.bothBounds)
	line("served after", "%v at worst", r.worstServed.Round(time.Millisecond))
	line("lost shards", "%d calls while they had to fail at once, %d of them took more than half of their time", r.lost, r.clung)
	line("client", "moved %d, ask %d, refused %d, not sent %d", r.stats.Moved, r.stats.Ask, r.stats.Refused, r.stats.NotSent)
	for _, text := range r.failures {
		line("FAILED", "%s", text)
	}
	if r.more > 0 {
		line("FAILED", "and %d more", r.more)
	}
	if len(r.failures) == 0 {
		line("passed", "")
	}
}

// A footprint is what a process uses.
type footprint struct {
	goroutines int
	heap       uint64
}

// measure waits up to five seconds until there are no more than so many goroutines, 0 for any number.
func measure(goroutines int) footprint {
	for end := time.Now().Add(5 * time.Second); goroutines > 0 && runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.GC() // the first one only empties what sync.Pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), m.HeapAlloc}
}
