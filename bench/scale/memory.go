package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/table"
)

// A footprint is what a client keeps: when all of its connections are open and idle, and after
// a load. It has lanes, or a fixed pool.
type footprint struct {
	Primaries   int   `json:"primaries"`
	Lanes       int   `json:"lanes"`           // to each; 0: a fixed pool
	Fixed       int   `json:"fixed,omitempty"` // connections to each
	Round       int   `json:"round"`
	Connections int   `json:"connections"`
	Goroutines  int   `json:"goroutines"`
	Files       int   `json:"files,omitempty"`  // descriptors that are open
	Idle        int64 `json:"idle"`             // bytes of the heap that live on
	Used        int64 `json:"used"`             // the same behind footprintCallers with requests of ten keys
	Server      int64 `json:"server,omitempty"` // bytes that the servers keep for the connections then
}

const footprintCallers = 100

// A footprintPlan measures fixed pools beside the first number of primaries.
type footprintPlan struct {
	primaries, lanes, fixed []int
	rounds                  int
	during                  time.Duration
}

var wholeFootprintPlan = footprintPlan{
	primaries: []int{1, 2, 4, 8}, lanes: []int{1, 4, 8, 16, 32}, fixed: []int{10, 50, 100}, rounds: 5, during: 300 * time.Millisecond,
}

func (p footprintPlan) measure(ctx context.Context, write func(line) error) error {
	for i, primaries := range p.primaries {
		var all []footprint
		for _, lanes := range p.lanes {
			all = append(all, footprint{Primaries: primaries, Lanes: lanes})
		}
		for _, size := range p.fixed {
			if i == 0 {
				all = append(all, footprint{Primaries: primaries, Fixed: size})
			}
		}
		if err := p.beside(ctx, all, write); err != nil {
			return fmt.Errorf("%d primaries: %w", primaries, err)
		}
	}
	return nil
}

// beside measures all of them in rounds, beside the same servers.
func (p footprintPlan) beside(ctx context.Context, all []footprint, write func(line) error) error {
	started, err := servers.LaunchCluster(ctx, servers.Options{Primaries: all[0].Primaries})
	if err != nil {
		return err
	}
	defer started.Close()
	for round := range p.rounds {
		for _, f := range all {
			f.Round = round
			table.Print(os.Stderr, "%d primaries, %s, round %d of %d\n", f.Primaries, f.pool(), round+1, p.rounds)
			if err := f.measure(ctx, started, p.during); err != nil {
				return fmt.Errorf("%s: %w", f.pool(), err)
			}
			if err := write(line{Memory: &f}); err != nil {
				return err
			}
		}
	}
	return nil
}

// pool is the name of the pool.
func (f *footprint) pool() string {
	switch {
	case f.Fixed > 0:
		return fmt.Sprint("Fixed ", f.Fixed)
	case f.Lanes == 1:
		return "1 lane"
	}
	return fmt.Sprint(f.Lanes, " lanes")
}

func (f *footprint) config() pool.Config {
	if f.Fixed > 0 {
		return pool.Fixed{Size: f.Fixed}
	}
	return pool.Laned{Lanes: f.Lanes}
}

// measure fills everything in, with a client that is new.
func (f *footprint) measure(ctx context.Context, beside *servers.Cluster, during time.Duration) error {
	server, err := clientMemory(ctx, beside)
	if err != nil {
		return err
	}
	goroutines, files, empty := runtime.NumGoroutine(), openFiles(), liveHeap()
	client, err := cluster.Config{Pool: f.config(), RefreshEvery: -1}.New(ctx, beside.Addrs()[:1])
	if err != nil {
		return err
	}
	defer client.Close()
	// Connections are dialled when a node is first used.
	if err := callers(client, 1, largeKeys)[0](ctx); err != nil {
		return err
	}
	if f.Connections, err = f.opened(ctx, client); err != nil {
		return err
	}
	f.Goroutines, f.Files, f.Idle = runtime.NumGoroutine()-goroutines, openFiles()-files, liveHeap()-empty
	if _, err := run(ctx, client, footprintCallers, 10, during); err != nil {
		return err
	}
	f.Used = liveHeap() - empty
	after, err := clientMemory(ctx, beside)
	f.Server = after - server
	return err
}

// openFiles returns how many file descriptors the process has.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd") // 0 where the system does not tell
	return len(all)
}

var clientBytes = regexp.MustCompile(`tot-mem=([0-9]+)`)

// clientMemory returns the bytes that servers keep for connections, by their own account.
func clientMemory(ctx context.Context, c *servers.Cluster) (sum int64, err error) {
	for _, node := range c.Nodes() {
		var list string
		if err := node.Do(ctx, &list, "CLIENT", "LIST"); err != nil {
			return 0, err
		}
		for _, found := range clientBytes.FindAllStringSubmatch(list, -1) {
			n, err := strconv.ParseInt(found[1], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

// opened waits until all connections are open and returns how many there are.
func (f *footprint) opened(ctx context.Context, client *cluster.Client) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := f.Primaries * max(f.Lanes, f.Fixed)
	for {
		n = 0
		for _, node := range client.Stats().Nodes {
			if n += len(node.Pool.LaneInFlight); f.Fixed > 0 {
				n += node.Pool.Open
			}
		}
		if n == want {
			return n, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return n, fmt.Errorf("%d of %d connections are open: %w", n, want, ctx.Err())
		}
	}
}

// footprintTable has a row for each number of primaries, and the medians of the rounds for
// each number of lanes: idle and behind a load. Its last cell is what one more idle lane takes.
func (r *record) footprintTable() *table.Table {
	head := []string{"primaries"}
	for _, lanes := range wholeFootprintPlan.lanes {
		head = append(head, (&footprint{Lanes: lanes}).pool())
	}
	t := table.New(append(head, "a lane")...)
	if len(r.footprints) == 0 {
		return t
	}
	for _, primaries := range wholeFootprintPlan.primaries {
		row, idle := []string{fmt.Sprint(primaries)}, make(map[int]float64)
		for _, lanes := range wholeFootprintPlan.lanes {
			here := r.footprintsOf(footprint{Primaries: primaries, Lanes: lanes})
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

// footprintsOf are the rounds of a pool.
func (r *record) footprintsOf(of footprint) (all []footprint) {
	for _, f := range r.footprints {
		if f.Primaries == of.Primaries && f.Lanes == of.Lanes && f.Fixed == of.Fixed {
			all = append(all, f)
		}
	}
	return all
}

// connectionTable has a row for each pool beside one primary: what its connections take in the
// client, and in the server.
func (r *record) connectionTable() *table.Table {
	t := table.New("pool", "file descriptors", "heap, idle", "behind a load", "server, behind a load", "server, a connection")
	var seen []string
	for _, of := range r.footprints {
		if of.Primaries != 1 || of.Server == 0 || slices.Contains(seen, of.pool()) {
			continue
		}
		seen = append(seen, of.pool())
		here := r.footprintsOf(of)
		server := median(here, func(f footprint) float64 { return float64(f.Server) })
		t.Add(of.pool(), fmt.Sprint(median(here, func(f footprint) float64 { return float64(f.Files) })), table.Bytes(median(here, func(f footprint) float64 { return float64(f.Idle) })),
			table.Bytes(median(here, func(f footprint) float64 { return float64(f.Used) })), table.Bytes(server), table.Bytes(server/float64(of.Connections)))
	}
	return t
}
