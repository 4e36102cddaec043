package load

import (
	"fmt"
	"math/rand/v2"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// prefix begins all keys, so that they can be told from others of a cluster that
// is in use.
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

// groups returns n groups of keys, each of one user, whose name is the hash tag.
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
