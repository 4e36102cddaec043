// Package closed runs closed loops: each caller sends its next request when it has the reply to
// the last.
package closed

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A Result is what a loop did and took.
type Result struct {
	Requests           int64
	Took               time.Duration
	CPU                time.Duration // of this process, which is the client's
	Mallocs, Allocated uint64        // Allocated are bytes
	latencies          *hdrhistogram.Histogram
}

// At returns the latency that so many percent do not exceed, in whole microseconds.
func (r *Result) At(percent float64) time.Duration {
	return time.Duration(r.latencies.ValueAtQuantile(percent)) * time.Microsecond
}

// Connected reports whether the pools have the connections that they want: an adaptive one takes
// more only while callers wait.
func Connected(s redislanes.Stats) bool {
	for _, n := range s.Nodes {
		if p := n.Pool; p.Open < p.Size && (p.Kind != "adaptive" || p.Open == 0) {
			return false
		}
	}
	return true
}

// Connect waits until the pools of a client are connected.
func Connect(ctx context.Context, client *cluster.Client, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !Connected(client.Stats()) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("pools are not connected: %w", ctx.Err())
		}
	}
	return nil
}

// newHistogram holds 1 µs to a minute with three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Microseconds(), 3)
}

// Run lets the callers send for a while. The first error of a caller ends it, and is returned
// when all have ended.
func Run(ctx context.Context, callers []func(context.Context) error, during time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, during+time.Minute)
	defer cancel()
	return run(ctx, callers, func(since time.Duration) bool { return since < during })
}

// Count is Run for so many requests, shared out among the callers as they get to them.
func Count(ctx context.Context, callers []func(context.Context) error, n int) (Result, error) {
	var taken atomic.Int64
	return run(ctx, callers, func(time.Duration) bool { return taken.Add(1) <= int64(n) })
}

func run(ctx context.Context, callers []func(context.Context) error, more func(since time.Duration) bool) (Result, error) {
	r := Result{latencies: newHistogram()}
	histograms := make([]*hdrhistogram.Histogram, len(callers))
	for i := range callers {
		histograms[i] = newHistogram()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := usage.CPU(), time.Now()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for i, request := range callers {
		all.Go(func() {
			if err := loop(ctx, request, func(now time.Time) bool { return more(now.Sub(began)) }, histograms[i]); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	err := context.Cause(ctx)
	r.Took, r.CPU = time.Since(began), usage.CPU()-cpu
	runtime.ReadMemStats(&after)
	r.Mallocs, r.Allocated = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	for _, h := range histograms {
		r.Requests += h.TotalCount()
		r.latencies.Merge(h)
	}
	return r, err
}

func loop(ctx context.Context, request func(context.Context) error, more func(time.Time) bool, h *hdrhistogram.Histogram) error {
	record := recorder{to: h}
	for began := time.Now(); more(began); {
		if err := request(ctx); err != nil {
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
