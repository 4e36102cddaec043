package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// BenchmarkConstructor measures what a program gains that changes the constructor and
// nothing else: decisions of a rate limit service about four keys, by radix's actions.
// Which client is first is up to chance: compare the times of several runs.
func BenchmarkConstructor(b *testing.B) {
	real := servers.StartCluster(b, servers.Options{Primaries: 3})
	theirs, err := radix.ClusterConfig{}.New(b.Context(), real.Addrs())
	if err != nil {
		b.Fatal(err)
	}
	defer theirs.Close()
	ours, err := cluster.Config{}.New(b.Context(), real.Addrs())
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	for _, way := range []struct {
		name   string
		decide migrated
	}{{"FlatCmd", decideByCommands}, {"Pipeline", decideByPipelines}} {
		for _, callers := range []int{1, 100} {
			for name, client := range map[string]radix.MultiClient{"radix": theirs, "ours": ours} {
				b.Run(fmt.Sprintf("%s/callers=%d/%s", way.name, callers, name), func(b *testing.B) {
					benchmarkDecisions(b, client, way.decide, callers, "key_of_"+name)
				})
			}
		}
	}
}

// migrated is a decision by radix's actions: it counts a hit of each key.
type migrated func(context.Context, radix.MultiClient, []string) error

func benchmarkDecisions(b *testing.B, client radix.MultiClient, decide migrated, callers int, prefix string) {
	b.ReportAllocs()
	var made atomic.Int64
	var all sync.WaitGroup
	spent := cpuTime()
	for i := range callers {
		keys := make([]string, 4)
		for k := range keys {
			keys[k] = fmt.Sprintf("%s_%d_%d_1700000000", prefix, i, k)
		}
		all.Go(func() {
			for made.Add(1) <= int64(b.N) {
				if err := decide(b.Context(), client, keys); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((cpuTime()-spent).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// decideByCommands sends each command by itself.
func decideByCommands(ctx context.Context, client radix.MultiClient, keys []string) error {
	for _, key := range keys {
		var total uint32
		if err := client.Do(ctx, radix.FlatCmd(&total, "INCRBY", key, uint32(1))); err != nil {
			return err
		}
		if err := client.Do(ctx, radix.FlatCmd(nil, "EXPIRE", key, int64(60))); err != nil {
			return err
		}
	}
	return nil
}

// decideByPipelines sends the commands of each key in one radix.Pipeline.
func decideByPipelines(ctx context.Context, client radix.MultiClient, keys []string) error {
	for _, key := range keys {
		var total uint32
		p := radix.NewPipeline()
		p.Append(radix.FlatCmd(&total, "INCRBY", key, uint32(1)))
		p.Append(radix.FlatCmd(nil, "EXPIRE", key, int64(60)))
		if err := client.Do(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
