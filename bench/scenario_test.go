package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// A scenario is the keys of each request.
type scenario struct {
	name     string
	fixed    int // keys that every request has
	variable int // keys drawn at random for each request
}

var scenarios = []scenario{
	{"fixed_key", 1, 0},
	{"variable_key", 0, 1},
	{"mixed_2keys", 1, 1},
	{"mixed_10keys", 5, 5},
}

func (s scenario) keysPerRequest() int { return s.fixed + s.variable }

// pools are compared. The adaptive one spans the sizes of the fixed ones.
var pools = []struct {
	name   string
	config pool.Config
}{
	{"fixed-10", pool.Fixed{Size: 10}},
	{"fixed-50", pool.Fixed{Size: 50}},
	{"fixed-100", pool.Fixed{Size: 100}},
	{"adaptive", pool.Adaptive{Min: 10, Max: 100}},
	{"laned-1", pool.Laned{Lanes: 1}},
	{"laned-4", pool.Laned{Lanes: 4}},
	{"laned-8", pool.Laned{Lanes: 8}},
}

// variableKeys is how many keys the variable ones are drawn from.
const variableKeys = 10_000

// keySet is the names of all keys, made before the clock starts.
type keySet struct {
	fixed    []string
	variable []string
}

const maxFixed = 5 // keys that every request of a scenario has

func newKeySet(prefix string, variable int) keySet {
	k := keySet{variable: make([]string, variable)}
	// One after the other in each third of the slots: by their names alone, all of
	// them could be on one node.
	for i := 0; len(k.fixed) < maxFixed; i++ {
		name := fmt.Sprintf("%sfixed-%d", prefix, i)
		if int(cluster.Slot(name))*3/cluster.SlotCount == len(k.fixed)%3 {
			k.fixed = append(k.fixed, name)
		}
	}
	for i := range k.variable {
		k.variable[i] = fmt.Sprintf("%suser-%05d", prefix, i)
	}
	return k
}

// appendKeys appends the keys of one request.
func (s scenario) appendKeys(to []string, k keySet, random *rand.Rand) []string {
	to = append(to, k.fixed[:s.fixed]...)
	for range s.variable {
		to = append(to, k.variable[random.IntN(len(k.variable))])
	}
	return to
}
