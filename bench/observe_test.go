package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// turns is how often the clients of BenchmarkObserved take turns.
const turns = 20

// BenchmarkObserved tells what metrics cost: a client without a trace and one with
// metrics.New() send the same requests in turns, so that both meet the same machine.
// off-cpu-ns is the CPU time of a request without metrics, and cost-% what metrics add to it.
func BenchmarkObserved(b *testing.B) {
	target := started(b)
	all := newKeySet()
	for _, s := range scenarios {
		for _, callers := range []int{1, manyCallers} {
			b.Run(fmt.Sprintf("%s/callers=%d", s.name, callers), func(b *testing.B) {
				clients := [...]*cluster.Client{
					newClient(b, target, pool.Laned{}), newClientOf(b, target, cluster.Config{Trace: metrics.New().Trace()}),
				}
				loads := make([]*load, len(clients))
				for i, client := range clients {
					loads[i] = newLoad(client, s, all, callers)
					if err := loads[i].warmUp(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				used := compareCPU(b, loads)
				b.ReportMetric(used[0], "off-cpu-ns")
				b.ReportMetric(100*(used[1]/used[0]-1), "cost-%")
			})
		}
	}
}

// compareCPU lets the loads make b.N requests each, in turns, and returns the CPU time
// in nanoseconds that a request of each took.
func compareCPU(b *testing.B, loads []*load) []float64 {
	used := make([]float64, len(loads))
	made := 0
	latencies := make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for turn := range turns {
		n := b.N*(turn+1)/turns - b.N*turn/turns
		if n == 0 {
			continue
		}
		made += n
		for k := range loads {
			i := (turn + k) % len(loads) // the first turn is not always of the same one
			before := usage.CPU()
			if err := loads[i].run(b.Context(), n, latencies[:n], 1); err != nil {
				b.Fatal(err)
			}
			used[i] += float64(usage.CPU() - before)
		}
	}
	b.StopTimer()
	for i := range used {
		used[i] /= float64(made)
	}
	return used
}
