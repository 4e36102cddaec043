package main

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

// A scenario is the keys of each request: how many are the same for all, and
// how many are drawn from many.
type scenario struct {
	name            string
	fixed, variable int
	reading         bool // GET of large values instead of INCRBY and EXPIRE
	zipf            bool // some keys are drawn much more often than others
}

var scenarios = []scenario{
	{name: "fixed_key", fixed: 1},
	{name: "variable_key", variable: 1},
	{name: "mixed_2keys", fixed: 1, variable: 1},
	{name: "mixed_10keys", fixed: 5, variable: 5},
}

// mixed returns a scenario of n keys. Half of them, rounded up, are the same for all.
func mixed(n int) scenario {
	return scenario{name: fmt.Sprintf("mixed_%dkeys", n), fixed: (n + 1) / 2, variable: n / 2}
}

func (s scenario) keys() int { return s.fixed + s.variable }

const variableKeys = 10_000

// maxKeys is how many keys -keys can ask for.
const maxKeys = 10_000

// The names of all keys are made before the clock starts.
var fixedKeys, manyKeys = keys.Fixed("limit:", maxKeys/2), keys.Many("limit:", variableKeys)

// zipfKeys has each of manyKeys as often as a Zipf distribution with s = 1.1 has drawn it.
// It is made when it is needed: 4 MiB that the garbage collector looks at cost each client
// several percent.
var zipfKeys = sync.OnceValue(func() []string {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 1, variableKeys-1)
	drawn := make([]string, 1<<18)
	for i := range drawn {
		drawn[i] = manyKeys[zipf.Uint64()]
	}
	return drawn
})

func (s scenario) draw(to []string, random *rand.Rand) []string {
	to = append(to[:0], fixedKeys[:s.fixed]...)
	from := manyKeys
	switch {
	case s.reading:
		from = valueKeys
	case s.zipf:
		from = zipfKeys()
	}
	for range s.variable {
		to = append(to, from[random.IntN(len(from))])
	}
	return to
}
