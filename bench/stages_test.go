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
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

// stages are what a request of mixed_10keys spends its time on. Grouping by node
// is within do; BenchmarkGroup in internal/engine has it alone.
type stages struct {
	keys   time.Duration // making the names of the keys
	slots  time.Duration // their slots, which appending computes as well
	append time.Duration // encoding the commands
	do     time.Duration // grouping, sending, the servers, receiving
	decode time.Duration // the totals
}

// BenchmarkStages is where the time of one caller's requests of two and of ten keys goes,
// stage by stage. Looking at the clock between them costs some 50 ns each time. With many
// callers a stage would mostly be others' turns on the processor: profile those.
func BenchmarkStages(b *testing.B) {
	client := newClient(b, started(b), pool.Laned{})
	for _, keys := range []int{2, 10} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchmarkStages(b, client, keys) })
	}
}

func benchmarkStages(b *testing.B, client *cluster.Client, keys int) {
	c := stagedCaller{
		n:        keys,
		prefix:   fmt.Sprintf("bench:%x:user-", time.Now().UnixNano()),
		pipeline: pipeline.New(client), random: rand.New(rand.NewPCG(0, 0)),
	}
	send := func() {
		if err := c.request(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for range warmUpEach {
		send()
	}
	c.spent = stages{}
	for b.Loop() {
		send()
	}
	per := func(d time.Duration, unit string) { b.ReportMetric(float64(d)/float64(b.N), unit) }
	per(c.spent.keys, "keys-ns")
	per(c.spent.slots, "slots-ns")
	per(c.spent.append, "append-ns")
	per(c.spent.do, "do-ns")
	per(c.spent.decode, "decode-ns")
}

type stagedCaller struct {
	n        int // keys of a request
	prefix   string
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	spent    stages
	slots    int // so that their computation is not removed

	keys   []string
	totals []pipeline.Reply
}

func (c *stagedCaller) request(ctx context.Context) error {
	began := time.Now()
	lap := func(d *time.Duration) {
		now := time.Now()
		*d += now.Sub(began)
		began = now
	}
	c.keys = c.keys[:0]
	for range c.n {
		c.keys = append(c.keys, c.prefix+strconv.Itoa(c.random.IntN(variableKeys)))
	}
	lap(&c.spent.keys)
	for _, key := range c.keys {
		c.slots += int(cluster.Slot(key))
	}
	lap(&c.spent.slots)
	c.pipeline.Reset()
	c.totals = c.totals[:0]
	for _, key := range c.keys {
		c.totals = append(c.totals, c.pipeline.IncrBy(key, 1))
		c.pipeline.Expire(key, keys.TTL)
	}
	lap(&c.spent.append)
	if err := c.pipeline.Do(ctx); err != nil {
		return err
	}
	lap(&c.spent.do)
	for _, r := range c.totals {
		if total, err := r.Int(); err != nil || total < 1 {
			return fmt.Errorf("total %d: %w", total, err)
		}
	}
	lap(&c.spent.decode)
	return nil
}
