// Package keys makes the names of the keys of a load, before the clock starts.
package keys

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// Many returns names that a request draws from.
func Many(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%suser-%06d:minute", prefix, i)
	}
	return all
}

// Fixed returns names that all requests have. Each third of the slots has as many as the
// others: by their names alone, all of them could be on one node.
func Fixed(prefix string, n int) (names []string) {
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprintf("%severybody-%d:minute", prefix, i)
		if int(cluster.Slot(name))*3/cluster.SlotCount == len(names)%3 {
			names = append(names, name)
		}
	}
	return names
}

// ErrUnexpected says that a reply is not what the request must get.
var ErrUnexpected = errors.New("unexpected reply")

// TTL is that of each key.
const TTL = time.Minute

// A Counter sends the requests of one caller of a rate limiter.
type Counter struct {
	Pipeline *pipeline.Pipeline
	totals   []pipeline.Reply
}

// Count sends INCRBY and EXPIRE for each key, and checks every reply.
func (c *Counter) Count(ctx context.Context, keys []string) error {
	c.Pipeline.Reset()
	c.totals = c.totals[:0]
	for _, key := range keys {
		c.totals = append(c.totals, c.Pipeline.IncrBy(key, 1))
		c.Pipeline.Expire(key, TTL)
	}
	if err := c.Pipeline.Do(ctx); err != nil {
		return err
	}
	for _, total := range c.totals {
		if n, err := total.Int(); err != nil {
			return err
		} else if n < 1 {
			return fmt.Errorf("%w: total %d after INCRBY 1", ErrUnexpected, n)
		}
	}
	return nil
}

// A Scenario is the keys of each request of a rate limiter: how many are the same for all, and how
// many are drawn from many.
type Scenario struct {
	Name            string
	Fixed, Variable int
}

// Scenarios are those that are usually measured.
var Scenarios = []Scenario{{"fixed_key", 1, 0}, {"variable_key", 0, 1}, Mixed(2), Mixed(10)}

// Mixed returns a scenario of n keys. Half of them, rounded up, are the same for all.
func Mixed(n int) Scenario { return Scenario{fmt.Sprintf("mixed_%dkeys", n), (n + 1) / 2, n / 2} }

// A Set is the names of all keys.
type Set struct{ Fixed, Many []string }

// NewSet returns names for scenarios of at most ten keys: five fixed ones, and 10,000 to draw from.
func NewSet(prefix string) Set { return Set{Fixed(prefix, 5), Many(prefix, 10_000)} }

// Callers returns callers that send requests of the scenario, and check every reply. Each draws with
// a seed of its own, so that runs are alike.
func (s Scenario) Callers(client *cluster.Client, from Set, n int) (all []func(context.Context) error) {
	for i := range n {
		counter, random := Counter{Pipeline: pipeline.New(client)}, rand.New(rand.NewPCG(uint64(i), 0))
		var drawn []string
		all = append(all, func(ctx context.Context) error {
			drawn = append(drawn[:0], from.Fixed[:s.Fixed]...)
			for range s.Variable {
				drawn = append(drawn, from.Many[random.IntN(len(from.Many))])
			}
			return counter.Count(ctx, drawn)
		})
	}
	return all
}
