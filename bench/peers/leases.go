package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/table"
)

// A leaseTurn is what was measured at a rate, with leases or without: a line of a raw file.
type leaseTurn struct {
	Rate      int           `json:"rate"`
	Leases    bool          `json:"leases"`
	Took      time.Duration `json:"took"`
	Decisions int64         `json:"decisions"`
	Leased    int64         `json:"leased"`
	Commands  int64         `json:"commands"`
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
}

// leaseRates are hits a second on the key.
var leaseRates = []int{10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000}

const (
	leaseCallers = 32
	leaseWarmUp  = 6 * time.Second // the slowest key has a lease by then
)

// measureLeases measures all rates, with leases and without in turn.
func (p *peers) measureLeases(ctx context.Context) error {
	for _, rate := range leaseRates {
		for _, leases := range []bool{true, false} {
			fmt.Fprintf(os.Stderr, "%d hits a second, leases %v\n", rate, leases)
			t, err := measureLease(ctx, p.addrs, rate, leases, p.during)
			if err != nil {
				return fmt.Errorf("%d hits a second, leases %v: %w", rate, leases, err)
			}
			if err := p.note(line{Lease: &t}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A leasedKey is hit by callers at random times.
type leasedKey struct {
	limiter *limit.Limiter
	request limit.Request
	rate    float64 // of one caller

	mu     sync.Mutex
	row    leaseTurn
	took   *hdrhistogram.Histogram // nanoseconds
	failed error
}

// measureLease hits one key with leases or without. Its limit is never reached.
func measureLease(ctx context.Context, addrs []string, rate int, leases bool, during time.Duration) (leaseTurn, error) {
	var commands atomic.Int64
	trace := redislanes.Trace{BeginGroup: func(ctx context.Context, g redislanes.GroupStart) context.Context {
		commands.Add(int64(g.Commands))
		return ctx
	}}
	client, err := cluster.Config{Trace: &trace}.New(ctx, addrs)
	if err != nil {
		return leaseTurn{}, err
	}
	defer client.Close()
	l, err := limit.Config{Budget: time.Second}.New(client)
	if err != nil {
		return leaseTurn{}, err
	}
	defer l.Close()
	of, err := limit.Rule{Name: fmt.Sprintf("leases-%v-%d", leases, rate), Quota: 1_000_000_000, Window: time.Minute, NoLease: !leases}.New(l)
	if err != nil {
		return leaseTurn{}, err
	}
	n := min(leaseCallers, rate)
	k := &leasedKey{limiter: l, request: limit.Request{Limit: of, Key: "k"}, rate: float64(rate) / float64(n), took: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)}
	k.hit(ctx, n, leaseWarmUp)
	k.row, k.took = leaseTurn{Rate: rate, Leases: leases}, hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
	before, began := commands.Load(), time.Now()
	k.hit(ctx, n, during)
	k.row.Took, k.row.Commands = time.Since(began), commands.Load()-before
	k.row.P50, k.row.P99 = time.Duration(k.took.ValueAtQuantile(50)), time.Duration(k.took.ValueAtQuantile(99))
	return k.row, k.failed
}

// hit has callers hit the key for a while.
func (k *leasedKey) hit(ctx context.Context, callers int, during time.Duration) {
	var all sync.WaitGroup
	end := time.Now().Add(during)
	for range callers {
		all.Go(func() { k.caller(ctx, end) })
	}
	all.Wait()
}

// caller makes a call at each of its times. It makes calls that are late at once, one after the
// other.
func (k *leasedKey) caller(ctx context.Context, end time.Time) {
	var decisions, leased int64
	var failed error
	took := hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
	for next := time.Now(); ctx.Err() == nil && failed == nil; {
		next = next.Add(time.Duration(rand.ExpFloat64() / k.rate * float64(time.Second)))
		if !next.Before(end) {
			break
		}
		time.Sleep(time.Until(next))
		began := time.Now()
		r := k.limiter.Allow(ctx, k.request)
		_ = took.RecordValue(min(time.Since(began), time.Minute).Nanoseconds()) // within the histogram
		decisions++
		if r.Leased {
			leased++
		}
		if failed = r.Err; failed == nil && !r.Allowed {
			failed = fmt.Errorf("denied: a limit of %d was reached", r.Quota)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.row.Decisions, k.row.Leased = k.row.Decisions+decisions, k.row.Leased+leased
	k.took.Merge(took)
	if k.failed == nil {
		k.failed = failed
	}
}

func (r *leaseTurn) perDecision() float64 { return float64(r.Commands) / float64(r.Decisions) }

// leaseTable has a row for each rate, with leases and without.
func (r *record) leaseTable() *table.Table {
	t := table.New("hits/s asked for", "leases", "hits/s made", "by leases", "commands per decision", "P50", "P99")
	for _, row := range r.leaseTurns {
		leases := "on"
		if !row.Leases {
			leases = "off"
		}
		t.Add(fmt.Sprint(row.Rate), leases, fmt.Sprintf("%.0f", float64(row.Decisions)/row.Took.Seconds()), fmt.Sprintf("%.1f %%", 100*float64(row.Leased)/float64(row.Decisions)),
			fmt.Sprintf("%.4f", row.perDecision()), table.Duration(row.P50), table.Duration(row.P99))
	}
	return t
}

// leaseChart is commands per decision, and below them P99, by the rate.
func (r *record) leaseChart() *chart.Chart {
	over := chart.Axis{Label: "hits a second on the key"}
	for _, row := range r.leaseTurns {
		over.Add(float64(row.Rate), chart.Number(float64(row.Rate)))
	}
	commands := chart.Panel{Title: "commands per decision", X: over, Y: chart.Powers}
	times := chart.Panel{Title: "P99 (logarithmic)", X: over, Y: chart.Latency}
	for _, leases := range []bool{true, false} {
		name := map[bool]string{true: "with leases", false: "without"}[leases]
		needs, takes := chart.Line{Name: name}, chart.Line{Name: name}
		for _, row := range r.leaseTurns {
			if row.Leases != leases {
				continue
			}
			// The axis has no 0: none in so many decisions is less than one.
			least := 1 / float64(row.Decisions)
			needs.Points = append(needs.Points, chart.Point{X: float64(row.Rate), Y: max(row.perDecision(), least)})
			takes.Points = append(takes.Points, chart.Point{X: float64(row.Rate), Y: float64(row.P99) / 1e6})
		}
		commands.Lines, times.Lines = append(commands.Lines, needs), append(times.Lines, takes)
	}
	return &chart.Chart{Title: "One key, with leases and without", Panels: []chart.Panel{commands, times}}
}
