package keys

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

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

// NewSet returns names for scenarios of ten keys at most, half of which are drawn from 10,000.
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
