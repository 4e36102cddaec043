package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A result is what one client did in one scenario, over all rounds.
type result struct {
	requests  int64
	during    time.Duration // of the measured time, not of the warm-up
	cpu       time.Duration // of this process, which is the clients'
	mallocs   uint64
	allocated uint64                  // bytes
	calls     ioCalls                 // system calls of this process
	executed  int64                   // INCRBY, by the servers' own count
	servers   time.Duration           // processor time of all servers
	others    time.Duration           // and of processes that are not of the measurement
	latencies *hdrhistogram.Histogram // microseconds
}

func newResult() *result { return &result{latencies: newHistogram()} }

// newHistogram holds 1 µs to a minute with three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Microseconds(), 3)
}

func (r *result) percentile(p float64) time.Duration {
	return time.Duration(r.latencies.ValueAtQuantile(p)) * time.Microsecond
}

// A load is callers in a closed loop.
type load struct {
	scenario scenario
	callers  int
	requests []request // of each caller
}

func newLoad(s scenario, callers int, opened *session) *load {
	l := &load{scenario: s, callers: callers}
	newCaller := opened.counting
	if s.reading {
		newCaller = opened.reading
	}
	for range callers {
		l.requests = append(l.requests, newCaller())
	}
	return l
}

// run adds to the result what the load does in the time.
func (l *load) run(ctx context.Context, during time.Duration, r *result) error {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls, cpu, began := countCalls(), usage.CPU(), time.Now()
	histograms, err := l.loop(ctx, began.Add(during))
	took := time.Since(began)
	r.cpu += usage.CPU() - cpu
	r.calls = r.calls.plus(countCalls().minus(calls))
	runtime.ReadMemStats(&after)
	if err != nil {
		return err
	}
	var n int64
	for _, h := range histograms {
		n += h.TotalCount()
		r.latencies.Merge(h)
	}
	r.requests += n
	r.during += took
	r.mallocs += after.Mallocs - before.Mallocs
	r.allocated += after.TotalAlloc - before.TotalAlloc
	return nil
}

// loop lets the callers send until the end.
func (l *load) loop(ctx context.Context, end time.Time) ([]*hdrhistogram.Histogram, error) {
	ctx, cancel := context.WithDeadline(ctx, end.Add(time.Minute))
	defer cancel()
	histograms := make([]*hdrhistogram.Histogram, l.callers)
	errs := make([]error, l.callers)
	var callers sync.WaitGroup
	for i := range l.callers {
		histograms[i] = newHistogram()
		callers.Go(func() { errs[i] = l.caller(ctx, i, end, histograms[i]) })
	}
	callers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return histograms, nil
}

func (l *load) caller(ctx context.Context, i int, end time.Time, h *hdrhistogram.Histogram) error {
	random := rand.New(rand.NewPCG(uint64(i), 0))
	var keys []string
	record := recorder{to: h}
	for began := time.Now(); began.Before(end); {
		keys = l.scenario.draw(keys, random)
		if err := l.requests[i](ctx, keys); err != nil {
			return err
		}
		now := time.Now()
		if err := record.add(now.Sub(began)); err != nil {
			return err
		}
		began = now
	}
	return record.flush()
}

// A recorder notes how long requests took, and hands that to the histogram many
// at a time: the histograms of a hundred callers are 14 MB, and to reach into
// them after each request would cost a cache miss or two.
type recorder struct {
	to   *hdrhistogram.Histogram
	took [512]time.Duration
	n    int
}

func (r *recorder) add(took time.Duration) error {
	r.took[r.n] = took
	if r.n++; r.n == len(r.took) {
		return r.flush()
	}
	return nil
}

func (r *recorder) flush() error {
	for _, took := range r.took[:r.n] {
		if err := r.to.RecordValue(max(1, took.Microseconds())); err != nil {
			return fmt.Errorf("a request took %v: %w", took, err)
		}
	}
	r.n = 0
	return nil
}
