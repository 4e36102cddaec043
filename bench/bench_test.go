package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
	"github.com/redislanes/redislanes/bench/internal/stats"
)

const manyCallers = 100

// pools are compared. The adaptive one spans the sizes of the fixed ones.
var pools = []setting{
	of("fixed-10", pool.Fixed{Size: 10}), of("fixed-50", pool.Fixed{Size: 50}), of("fixed-100", pool.Fixed{Size: 100}),
	of("adaptive", pool.Adaptive{Min: 10, Max: 100}),
	of("laned-1", pool.Laned{Lanes: 1}), of("laned-4", pool.Laned{Lanes: 4}), of("laned-8", pool.Laned{Lanes: 8}),
}

func of(name string, p pool.Config) setting { return setting{name, cluster.Config{Pool: p}} }

// BenchmarkScenario is every scenario over every pool with 100 callers.
func BenchmarkScenario(b *testing.B) { benchmarkAll(b, manyCallers) }

// BenchmarkSingleCaller is every scenario over every pool with one caller.
func BenchmarkSingleCaller(b *testing.B) { benchmarkAll(b, 1) }

func benchmarkAll(b *testing.B, callers int) {
	on := started(b, 0)
	for _, s := range keys.Scenarios {
		b.Run(s.Name, func(b *testing.B) { inTurns(b, on, "pool", pools, s, callers, 1) })
	}
}

// turnLength is how many requests a client of BenchmarkObserved sends in a turn.
const turnLength = 5000

// BenchmarkObserved tells what metrics cost: a client without a trace and one with metrics.New() take
// short turns, so that a disturbance spoils few. off-cpu-ns is the CPU time of a request without
// metrics, and cost-% what metrics add to it: the medians of the turns.
func BenchmarkObserved(b *testing.B) {
	on := started(b, 0)
	for _, s := range keys.Scenarios {
		for _, callers := range []int{1, manyCallers} {
			b.Run(fmt.Sprintf("%s/callers=%d", s.Name, callers), func(b *testing.B) {
				off, ratio := compareCPU(b, on, s, callers)
				b.ReportMetric(off, "off-cpu-ns")
				b.ReportMetric(100*(ratio-1), "cost-%")
			})
		}
	}
}

// compareCPU returns the CPU time in nanoseconds of a request without metrics, and that of one with
// metrics as a multiple of it.
func compareCPU(b *testing.B, on target, s keys.Scenario, callers int) (off, ratio float64) {
	var loads [2][]func(context.Context) error
	for i, config := range []cluster.Config{{}, {Trace: metrics.New().Trace()}} {
		client := on.client(b, config)
		loads[i] = s.Callers(client, newKeySet(), callers)
		require.NoError(b, warmUp(b.Context(), client, loads[i]))
	}
	b.ResetTimer()
	var offs, ratios []float64
	for turn := 0; turn*turnLength < b.N; turn++ {
		var used [2]float64
		for k := range loads {
			i := (turn + k) % 2 // the first is not always the same one
			r, err := closed.Count(b.Context(), loads[i], turnLength)
			require.NoError(b, err)
			used[i] = float64(r.CPU) / turnLength
		}
		offs, ratios = append(offs, used[0]), append(ratios, used[1]/used[0])
	}
	return stats.Median(offs), stats.Median(ratios)
}

// BenchmarkPoolSize is mixed_10keys by the size of the pool, over a round trip of 5 ms: on
// loopback a size says nothing.
func BenchmarkPoolSize(b *testing.B) {
	inTurns(b, started(b, 5*time.Millisecond), "pool", pools[:4], keys.Mixed(10), manyCallers, 6)
}

// BenchmarkLanes is mixed_10keys by the strategy that chooses a lane, over a round trip of 1 ms.
func BenchmarkLanes(b *testing.B) {
	inTurns(b, started(b, time.Millisecond), "lanes", []setting{
		of("1", pool.Laned{Lanes: 1}), of("4-first-fit", pool.Laned{}), of("4-round-robin", pool.Laned{Strategy: lanes.RoundRobin}),
		of("4-least-used", pool.Laned{Strategy: lanes.LeastUsed}), of("4-power-of-two", pool.Laned{Strategy: lanes.PowerOfTwo}),
		of("4-affinity", pool.Laned{Strategy: lanes.Affinity}),
	}, keys.Mixed(10), manyCallers, 2)
}

// stages are what a request of a rate limiter spends its time on: making the names of the keys;
// their slots, which appending computes as well; encoding the commands; grouping, sending, the
// servers and receiving; the totals. BenchmarkGroup in internal/engine has the grouping alone.
var stages = [...]string{"keys-ns", "slots-ns", "append-ns", "do-ns", "decode-ns"}

// BenchmarkStages is where the time of one caller's requests of two and of ten keys goes,
// stage by stage. Looking at the clock between them costs some 50 ns each time. With many
// callers a stage would mostly be others' turns on the processor: profile those.
func BenchmarkStages(b *testing.B) {
	client := started(b, 0).client(b, cluster.Config{})
	for _, n := range []int{2, 10} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			c := stagedCaller{
				prefix:   fmt.Sprintf("bench:%x:user-", time.Now().UnixNano()),
				pipeline: pipeline.New(client), random: rand.New(rand.NewPCG(0, 0)), keys: make([]string, n),
			}
			send := func() {
				if err := c.request(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for range warmUpEach {
				send()
			}
			c.spent = [len(stages)]time.Duration{}
			for b.Loop() {
				send()
			}
			for i, unit := range stages {
				b.ReportMetric(float64(c.spent[i])/float64(b.N), unit)
			}
		})
	}
}

type stagedCaller struct {
	prefix   string
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	spent    [len(stages)]time.Duration
	slots    int // so that their computation is not removed

	keys   []string // of the request
	totals []pipeline.Reply
}

func (c *stagedCaller) request(ctx context.Context) error {
	began, stage := time.Now(), 0
	lap := func() {
		now := time.Now()
		c.spent[stage] += now.Sub(began)
		began, stage = now, stage+1
	}
	for i := range c.keys {
		c.keys[i] = c.prefix + strconv.Itoa(c.random.IntN(10_000))
	}
	lap()
	for _, key := range c.keys {
		c.slots += int(cluster.Slot(key))
	}
	lap()
	c.pipeline.Reset()
	c.totals = c.totals[:0]
	for _, key := range c.keys {
		c.totals = append(c.totals, c.pipeline.IncrBy(key, 1))
		c.pipeline.Expire(key, keys.TTL)
	}
	lap()
	if err := c.pipeline.Do(ctx); err != nil {
		return err
	}
	lap()
	for _, r := range c.totals {
		if total, err := r.Int(); err != nil || total < 1 {
			return fmt.Errorf("total %d: %w", total, err)
		}
	}
	lap()
	return nil
}
