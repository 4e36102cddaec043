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
}

var scenarios = []scenario{
	{"fixed_key", 1, 0},
	{"variable_key", 0, 1},
	{"mixed_2keys", 1, 1},
	{"mixed_10keys", 1, 9},
}

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
	for range s.variable {
		to = append(to, manyKeys[random.IntN(len(manyKeys))])
	}
	return to
}
