package lanes

import (
	"fmt"
	"sync"
	"testing"
)

// named are the strategies by the names that benchmarks and settings files use.
var named = []struct {
	name string
	Strategy
}{
	{"first-fit", FirstFit}, {"round-robin", RoundRobin}, {"least-used", LeastUsed},
	{"power-of-two", PowerOfTwo}, {"affinity", Affinity}, {"by-key", ByKey},
}

// BenchmarkStrategy is what a choice costs, without I/O. The goroutines share
// b.N choices among them, so where they share nothing else, ns/op falls with the
// number of processors. All lanes are busy: LeastUsed must look at each.
func BenchmarkStrategy(b *testing.B) {
	for _, s := range named {
		for _, goroutines := range []int{1, 2, 4, 8, 16} {
			for _, size := range []int{4, 16} {
				b.Run(fmt.Sprintf("%s/goroutines=%d/lanes=%d", s.name, goroutines, size), func(b *testing.B) {
					benchmarkStrategy(b, s.Strategy, goroutines, busySet(size))
				})
			}
		}
	}
}

func busySet(size int) *Set {
	inFlight := make([]int32, size)
	for i := range inFlight {
		inFlight[i] = int32(1 + i*7%5)
	}
	return setOf(inFlight...)
}

func benchmarkStrategy(b *testing.B, s Strategy, goroutines int, set *Set) {
	b.ReportAllocs()
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < b.N; i += goroutines {
				s(set, int64(i)&(1<<14-1))
			}
		})
	}
	all.Wait()
}
