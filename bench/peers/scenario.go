package main

import (
	"fmt"
	"math/rand/v2"
)

// A scenario is the keys of each request: how many are the same for all, and
// how many are drawn from many.
type scenario struct {
	name            string
	fixed, variable int
	reading         bool // GET of large values instead of INCRBY and EXPIRE
}

var scenarios = []scenario{
	{name: "fixed_key", fixed: 1},
	{name: "variable_key", variable: 1},
	{name: "mixed_2keys", fixed: 1, variable: 1},
	{name: "mixed_10keys", fixed: 1, variable: 9},
}

// mixed returns a scenario of n keys, one of which is the same for all.
func mixed(n int) scenario {
	return scenario{name: fmt.Sprintf("mixed_%dkeys", n), fixed: 1, variable: n - 1}
}

func (s scenario) keys() int { return s.fixed + s.variable }

const variableKeys = 10_000

// keys are the names of all keys, made before the clock starts.
var fixedKey, manyKeys = makeKeys()

func makeKeys() (fixed string, many []string) {
	for i := range variableKeys {
		many = append(many, fmt.Sprintf("limit:user-%05d:minute", i))
	}
	return "limit:everybody:minute", many
}

func (s scenario) draw(to []string, random *rand.Rand) []string {
	to = to[:0]
	for range s.fixed {
		to = append(to, fixedKey)
	}
	from := manyKeys
	if s.reading {
		from = valueKeys
	}
	for range s.variable {
		to = append(to, from[random.IntN(len(from))])
	}
	return to
}
