package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

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
