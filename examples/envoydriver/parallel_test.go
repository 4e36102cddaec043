package envoydriver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// parallel sends a pipeline as the service of mid-2026 does on radix: one pipeline for
// each key, so many of them at the same time, each in a goroutine of its own. The first
// error ends the others.
type parallel struct {
	cluster *radix.Cluster
	most    int
}

func (p parallel) PipeDo(ctx context.Context, commands Pipeline) error {
	var groups []*radix.Pipeline
	of := make(map[string]int)
	for _, c := range commands {
		i, ok := of[c.Key]
		if !ok {
			i = len(groups)
			of[c.Key] = i
			groups = append(groups, radix.NewPipeline())
		}
		groups[i].Append(c.Action)
	}
	if p.most == 1 {
		for _, group := range groups {
			if err := p.cluster.Do(ctx, group); err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	places := make(chan struct{}, p.most)
	for _, group := range groups {
		places <- struct{}{}
		running.Go(func() {
			if err := p.cluster.Do(ctx, group); err != nil {
				cancel(err)
			}
			<-places
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// BenchmarkPipelines is INCRBY and EXPIRE of four or ten keys in a cluster of three
// primaries, by one caller and by 100.
func BenchmarkPipelines(b *testing.B) {
	const size = 10
	c := servers.StartCluster(b, servers.Options{})
	driver := connect(b, Options{Type: "CLUSTER", URL: strings.Join(c.Addrs(), ","), PoolSize: size})
	cluster, err := radix.ClusterConfig{PoolConfig: radix.PoolConfig{Size: size}}.New(b.Context(), c.Addrs())
	require.NoError(b, err)
	defer func() { require.NoError(b, cluster.Close()) }()
	for _, callers := range []int{1, 100} {
		for _, n := range []int{4, 10} {
			for _, way := range []struct {
				name   string
				pipeDo func(context.Context, Pipeline) error
			}{
				{"radix, one by one", parallel{cluster, 1}.PipeDo},
				{"radix, parallel", parallel{cluster, size}.PipeDo},
				{"this driver", driver.PipeDo},
			} {
				b.Run(fmt.Sprintf("%d callers/%d keys/%s", callers, n, way.name), func(b *testing.B) {
					keys := redistest.KeysInSlots(n, "parallel")
					b.ReportAllocs()
					inParallel(b, callers, func() error {
						totals := make([]uint64, len(keys))
						var p Pipeline
						for i, key := range keys {
							p = driver.PipeAppend(p, &totals[i], "INCRBY", key, uint64(1))
							p = driver.PipeAppend(p, nil, "EXPIRE", key, window)
						}
						return way.pipeDo(b.Context(), p)
					})
				})
			}
		}
	}
}

// inParallel calls f b.N times from so many goroutines.
func inParallel(b *testing.B, callers int, f func() error) {
	calls := make(chan struct{}, b.N)
	for range b.N {
		calls <- struct{}{}
	}
	close(calls)
	var running sync.WaitGroup
	b.ResetTimer()
	for range callers {
		running.Go(func() {
			for range calls {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}
