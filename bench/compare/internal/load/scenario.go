package load

import (
	"fmt"
	"math/rand/v2"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// A scenario is what the requests of a load are.
type scenario struct {
	// Of a rate limiter: INCRBY and EXPIRE for so many keys, those that are the
	// same for all requests and those that are drawn for each.
	fixed, variable int

	// Of other services: kinds of requests by their shares, which sum up to 1.
	mix []share

	// slow is the share of requests with a large reply; the mix shares the rest.
	slow float64
}

// A share is how many of the requests are of a kind.
type share struct {
	of   float64
	kind kind
}

// A kind is what one request does.
type kind uint8

const (
	get        kind = iota
	put             // SET
	hash            // HGETALL of ten small fields
	several         // MGET of five keys in one slot
	pipeline10      // GET of ten keys in any slots
	slow            // HGETALL of a large hash
)

func (k kind) class() class {
	switch k {
	case put:
		return writes
	case slow:
		return slowOnes
	default:
		return reads
	}
}

const (
	severalKeys  = 5 // of an MGET
	pipelineKeys = 10
	hashFields   = 10
)

var scenarios = map[string]scenario{
	"fixed_key":    {fixed: 1},
	"variable_key": {variable: 1},
	"mixed":        {}, // as many as keys_per_request says, see scenarioOf
	"mixed_2keys":  {fixed: 1, variable: 1},
	"mixed_10keys": {fixed: 5, variable: 5},
	"read_write":   {mix: []share{{0.5, get}, {0.5, put}}},
	"shop":         {mix: []share{{0.80, get}, {0.15, put}, {0.025, hash}, {0.025, several}}, slow: 0.001},
	"dashboard":    {mix: []share{{0.60, get}, {0.30, several}, {0.10, pipeline10}}, slow: 0.005},
	"head_of_line": {mix: []share{{1, get}}, slow: 0.01},
}

// scenarioOf returns the load's scenario, with its own share of slow requests.
func scenarioOf(l settings.Load) scenario {
	s := scenarios[l.Scenario]
	if n := l.KeysPerRequest; n > 0 {
		s.fixed, s.variable = (n+1)/2, n/2 // half of them, rounded up, are fixed
	}
	if l.SlowShare >= 0 && s.mix != nil {
		s.slow = l.SlowShare
	}
	return s
}

// draw returns the kind of a request by a random number from 0 up to 1.
func (s scenario) draw(at float64) kind {
	if at < s.slow {
		return slow
	}
	at = (at - s.slow) / (1 - s.slow)
	for _, m := range s.mix {
		if at < m.of {
			return m.kind
		}
		at -= m.of
	}
	return s.mix[len(s.mix)-1].kind
}

// reads reports whether the requests need keys that exist.
func (s scenario) reads() bool { return s.mix != nil }

// prefix begins all keys, so that they can be told from others of a cluster that is in use.
const prefix = "compare:"

// slowHashes are large hashes, enough that every node has some.
const slowHashes = 32

// A keySet is the names of all keys, made before the clock starts. All callers
// of an endpoint share it.
type keySet struct {
	fixed []string // spread evenly over the slots
	many  []string
	// group holds, for each of many, keys of the same slot: those of an MGET, or
	// of a request whose keys have hash tags.
	group  [][]string
	hashes []string
	slow   []string
}

func newKeySet(l settings.Load) *keySet {
	s := scenarioOf(l)
	k := &keySet{fixed: keys.Fixed(prefix, s.fixed), many: keys.Many(prefix, l.Keys.Number)}
	switch {
	case l.HashTags:
		k.group = groups(l.Keys.Number, s.fixed+s.variable)
	case s.reads():
		k.group = groups(l.Keys.Number, severalKeys)
		for i := range l.Keys.Number {
			k.hashes = append(k.hashes, fmt.Sprintf("%shash-%06d", prefix, i))
		}
	}
	for i := range slowHashes {
		k.slow = append(k.slow, fmt.Sprintf("%sslow-%d:%d", prefix, l.SlowSize, i))
	}
	return k
}

// groups returns n groups of keys. The keys of a group have one user, and the user's name as hash tag.
func groups(n, each int) [][]string {
	all := make([][]string, n)
	for i := range all {
		for j := range each {
			all[i] = append(all[i], fmt.Sprintf("%s{user-%06d}:%d", prefix, i, j))
		}
	}
	return all
}

// A picker draws keys by their distribution. It belongs to one goroutine.
type picker struct {
	random *rand.Rand
	zipf   *rand.Zipf // nil: all are as likely
	n      int
}

func newPicker(l settings.Load, caller int) picker {
	random := rand.New(rand.NewPCG(1, uint64(caller)))
	p := picker{random: random, n: l.Keys.Number}
	if l.Keys.Distribution == "zipf" {
		p.zipf = rand.NewZipf(random, l.Keys.Skew, 1, uint64(l.Keys.Number-1))
	}
	return p
}

// index returns the number of a key.
func (p picker) index() int {
	if p.zipf != nil {
		return int(p.zipf.Uint64())
	}
	return p.random.IntN(p.n)
}
