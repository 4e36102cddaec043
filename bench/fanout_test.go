package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// fanOuts are the ways in which a pipeline's groups are sent.
var fanOuts = []struct {
	name string
	how  pipeline.Config
}{
	{"async", pipeline.Config{}},
	{"sequential", pipeline.Config{Sequential: true}},
}

// BenchmarkFanOut is mixed_10keys, whose groups are for three nodes, sent in each
// way, by the time of a round trip added to that of loopback, the number of
// callers and the pool.
func BenchmarkFanOut(b *testing.B) {
	target := sharedTarget(b)
	keys := newKeySet(fmt.Sprintf("bench:%x:", time.Now().UnixNano()), variableKeys)
	mixed := scenarios[len(scenarios)-1]
	for _, trip := range []time.Duration{0, time.Millisecond} {
		for _, callers := range []int{1, 100} {
			for _, p := range []struct {
				name   string
				config pool.Config
			}{{"laned-4", pool.Laned{Lanes: 4}}, {"fixed-50", pool.Fixed{Size: 50}}} {
				for _, f := range fanOuts {
					b.Run(fmt.Sprintf("rtt=%v/callers=%d/%s/%s", trip, callers, p.name, f.name), func(b *testing.B) {
						d := target.dialer
						if trip > 0 {
							d.NetDial = newDistance(b, trip).dial
						}
						client, err := cluster.Config{Pool: p.config, Dialer: d}.New(b.Context(), target.addrs)
						if err != nil {
							b.Fatal(err)
						}
						b.Cleanup(func() { _ = client.Close() })
						measure(b, newLoadSent(f.how, client, mixed, keys, callers))
					})
				}
			}
		}
	}
}
