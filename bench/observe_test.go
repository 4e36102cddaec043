package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pool"
)

// turns is how often the clients of BenchmarkObserved take turns.
const turns = 20

// BenchmarkObserved tells what metrics cost: a client without an observer and one with
// metrics.New() send the same requests in turns, so that both meet the same machine.
// off-cpu-ns and on-cpu-ns are the CPU time of a request, cost-% is the difference.
func BenchmarkObserved(b *testing.B) {
	if !haveCPUTime {
		b.Skip("this system does not tell CPU times")
	}
	target := sharedTarget(b)
	keys := newKeySet(fmt.Sprintf("bench:%x:", time.Now().UnixNano()), variableKeys)
	for _, s := range scenarios {
		for _, callers := range []int{1, manyCallers} {
			b.Run(fmt.Sprintf("%s/callers=%d", s.name, callers), func(b *testing.B) {
				clients := [2]*cluster.Client{newClient(b, target, pool.Laned{}), newObservedClient(b, target, metrics.New())}
				var loads [2]*load
				for i, client := range clients {
					loads[i] = newLoad(client, s, keys, callers)
					if err := loads[i].warmUp(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				compareCPU(b, loads)
			})
		}
	}
}

func newObservedClient(tb testing.TB, t target, o cluster.Observer) *cluster.Client {
	tb.Helper()
	client, err := cluster.Config{Pool: pool.Laned{}, Dialer: t.dialer, Observer: o}.New(tb.Context(), t.addrs)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// compareCPU lets the loads make b.N requests each, in turns.
func compareCPU(b *testing.B, loads [2]*load) {
	var used [2]time.Duration
	var made int
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
			i := (turn + k) % len(loads) // neither always follows the other
			before := cpuTime()
			if err := loads[i].run(b.Context(), n, latencies[:n], 1); err != nil {
				b.Fatal(err)
			}
			used[i] += cpuTime() - before
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(used[0])/float64(made), "off-cpu-ns")
	b.ReportMetric(float64(used[1])/float64(made), "on-cpu-ns")
	b.ReportMetric(100*(float64(used[1])/float64(used[0])-1), "cost-%")
}
