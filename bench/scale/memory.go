package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/table"
)

// A footprint is what a client keeps: when all of its lanes are open and idle, and after a
// load.
type footprint struct {
	Primaries   int   `json:"primaries"`
	Lanes       int   `json:"lanes"` // to each
	Round       int   `json:"round"`
	Connections int   `json:"connections"`
	Goroutines  int   `json:"goroutines"`
	Idle        int64 `json:"idle"` // bytes of the heap that live on
	Used        int64 `json:"used"` // the same behind footprintCallers with requests of ten keys
}

const footprintCallers = 100

type footprintPlan struct {
	primaries, lanes []int
	rounds           int
	during           time.Duration
}

var wholeFootprintPlan = footprintPlan{primaries: []int{1, 2, 4, 8}, lanes: []int{1, 4, 8, 16, 32}, rounds: 5, during: 300 * time.Millisecond}

func measureFootprints(ctx context.Context, plan footprintPlan, progress io.Writer, add func(footprint) error) error {
	for _, primaries := range plan.primaries {
		err := withServers(ctx, primaries, func(addrs []string) error {
			for round := range plan.rounds {
				for _, lanes := range plan.lanes {
					table.Print(progress, "%d primaries, %d lanes, round %d of %d\n", primaries, lanes, round+1, plan.rounds)
					f := footprint{Primaries: primaries, Lanes: lanes, Round: round}
					if err := f.measure(ctx, addrs[0], plan.during); err != nil {
						return err
					}
					if err := add(f); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d primaries: %w", primaries, err)
		}
	}
	return nil
}

// measure fills everything in, with a client that is new.
func (f *footprint) measure(ctx context.Context, seed string, during time.Duration) error {
	goroutines, empty := runtime.NumGoroutine(), liveHeap()
	client, err := cluster.Config{Pool: pool.Laned{Lanes: f.Lanes}, RefreshEvery: -1}.New(ctx, []string{seed})
	if err != nil {
		return err
	}
	defer client.Close()
	// Lanes are dialled when a node is first used.
	if err := newCaller(client, 0, largeKeys).request(ctx); err != nil {
		return err
	}
	if f.Connections, err = f.opened(ctx, client); err != nil {
		return err
	}
	f.Goroutines, f.Idle = runtime.NumGoroutine()-goroutines, liveHeap()-empty
	if _, err := run(ctx, client, footprintCallers, 10, during); err != nil {
		return err
	}
	f.Used = liveHeap() - empty
	return nil
}

// opened waits until all lanes are open and returns how many there are.
func (f *footprint) opened(ctx context.Context, client *cluster.Client) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		n = 0
		for _, node := range client.Stats().Nodes {
			n += len(node.Pool.LaneInFlight)
		}
		if n == f.Primaries*f.Lanes {
			return n, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return n, fmt.Errorf("%d of %d lanes are open: %w", n, f.Primaries*f.Lanes, ctx.Err())
		}
	}
}

// footprintTable has a row for each number of primaries, and the medians of the rounds for
// each number of lanes: idle and behind a load. Its last cell is what one more idle lane takes.
func (r *record) footprintTable() *table.Table {
	head := []string{"primaries"}
	for _, lanes := range wholeFootprintPlan.lanes {
		name := fmt.Sprint(lanes, " lanes")
		if lanes == 1 {
			name = "1 lane"
		}
		head = append(head, name)
	}
	head = append(head, "a lane")
	t := table.New(head...)
	if len(r.footprints) == 0 {
		return t
	}
	for _, primaries := range wholeFootprintPlan.primaries {
		row, idle := []string{fmt.Sprint(primaries)}, make(map[int]float64)
		for _, lanes := range wholeFootprintPlan.lanes {
			var here []footprint
			for _, f := range r.footprints {
				if f.Primaries == primaries && f.Lanes == lanes {
					here = append(here, f)
				}
			}
			idle[lanes] = median(here, func(f footprint) float64 { return float64(f.Idle) })
			row = append(row, table.Bytes(idle[lanes])+", "+
				table.Bytes(median(here, func(f footprint) float64 { return float64(f.Used) })))
		}
		least, most := slices.Min(wholeFootprintPlan.lanes), slices.Max(wholeFootprintPlan.lanes)
		row = append(row, table.Bytes((idle[most]-idle[least])/float64(primaries*(most-least))))
		t.Add(row...)
	}
	return t
}
