package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/internal/usage"

	"github.com/redislanes/redislanes/bench/table"
)

// A large is what a cluster of so many primaries, each with a replica, costs a client.
type large struct {
	Primaries int `json:"primaries"`
	Round     int `json:"round"`

	Start      time.Duration `json:"start"`       // of the client: the first map
	StartHeap  int64         `json:"start_heap"`  // bytes that live on, without connections
	Refresh    time.Duration `json:"refresh"`     // of the map that is the same
	RefreshCPU time.Duration `json:"refresh_cpu"` // of this process
	Refreshed  uint64        `json:"refreshed"`   // bytes that a refresh allocates

	First       time.Duration `json:"first"`       // of the first request, which dials
	Connections int           `json:"connections"` // to all nodes after all requests
	Heap        int64         `json:"heap"`        // bytes that live on, with them
	Goroutines  int           `json:"goroutines"`

	One  used `json:"one"`  // requests of one caller
	Many used `json:"many"` // of largeCallers
}

const (
	largeKeys    = 1000 // of a request
	largeCallers = 16
	refreshes    = 20
)

type largePlan struct {
	primaries []int
	rounds    int
	during    time.Duration
}

var wholeLargePlan = largePlan{primaries: []int{3, 50, 500}, rounds: 5, during: time.Second}

func (p largePlan) measure(ctx context.Context, write func(line) error) error {
	for _, primaries := range p.primaries {
		err := withServers(ctx, primaries, func(addrs []string) error {
			for round := range p.rounds {
				table.Print(os.Stderr, "%d primaries, round %d of %d\n", primaries, round+1, p.rounds)
				l := large{Primaries: primaries, Round: round}
				if err := l.measure(ctx, addrs[0], p.during); err != nil {
					return err
				}
				if err := write(line{Large: &l}); err != nil {
					return err
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
func (l *large) measure(ctx context.Context, seed string, during time.Duration) error {
	goroutines, empty := runtime.NumGoroutine(), liveHeap()
	began := time.Now()
	client, err := cluster.Config{RefreshEvery: -1}.New(ctx, []string{seed})
	if err != nil {
		return err
	}
	defer client.Close()
	l.Start, l.StartHeap = time.Since(began), liveHeap()-empty
	if err := l.refresh(ctx, client); err != nil {
		return err
	}
	began = time.Now()
	if err := callers(client, 1, largeKeys)[0](ctx); err != nil {
		return err
	}
	l.First = time.Since(began)
	for _, load := range []struct {
		callers int
		to      *used
	}{{1, &l.One}, {largeCallers, &l.Many}} {
		if _, err := run(ctx, client, load.callers, largeKeys, during/4); err != nil {
			return err
		}
		if *load.to, err = run(ctx, client, load.callers, largeKeys, during); err != nil {
			return err
		}
	}
	l.Heap, l.Goroutines = liveHeap()-empty, runtime.NumGoroutine()-goroutines
	for _, node := range client.Stats().Nodes {
		l.Connections += node.Pool.Open
	}
	return nil
}

func (l *large) refresh(ctx context.Context, client *cluster.Client) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), usage.CPU()
	for range refreshes {
		if err := client.Sync(ctx); err != nil {
			return err
		}
	}
	l.Refresh, l.RefreshCPU = time.Since(began)/refreshes, (usage.CPU()-cpu)/refreshes
	runtime.ReadMemStats(&after)
	l.Refreshed = (after.TotalAlloc - before.TotalAlloc) / refreshes
	return nil
}

// liveHeap returns the bytes of the heap that are in use after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what sync.Pool held goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
