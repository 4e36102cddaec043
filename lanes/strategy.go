package lanes

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// A Strategy chooses a lane for a batch and returns its index, 0 to set.Len()-1. Any other number,
// taken as unsigned, counts modulo set.Len(). The set is not empty. If the lane is full, the lanes
// after it are tried in turn.
//
// It runs at most once for a batch, on many goroutines, without a lock held. It must be safe for
// concurrent use, fast, and must not block. If it panics, its batch fails as not sent. It is not
// asked for a batch that has waited for a lane. That batch goes as with [FirstFit], to the first
// lane with room.
//
// The key is a number that belongs to the batch, negative if there is none. Package cluster
// gives a batch the slot of its first command that has a key.
//
// [FirstFit], [RoundRobin], [LeastUsed], [PowerOfTwo], [Affinity] and [ByKey] are strategies. A
// program may write its own.
type Strategy func(set *Set, key int64) int

// A Set is the lanes to one server that can take batches, at one moment. It does not change. All
// methods are safe for concurrent use.
type Set struct {
	gauges []*Gauge
	turn   *atomic.Uint32
}

// A Gauge has the figures of one lane that a [Strategy] sees through the [Set]. Pools keep one
// for each lane. A program makes Gauges to test a strategy of its own.
type Gauge struct {
	ID       uint64       // different for each lane, and spread over all 64 bits; for [ByKey]
	InFlight atomic.Int32 // batches in flight
}

// NewSet returns the Set of the lanes with these gauges. It keeps the slice. The sets of one
// server share the turn. nil makes a new one.
func NewSet(gauges []*Gauge, turn *atomic.Uint32) *Set {
	if turn == nil {
		turn = new(atomic.Uint32)
	}
	return &Set{gauges, turn}
}

// Len returns the number of lanes.
func (s *Set) Len() int { return len(s.gauges) }

// InFlight returns how many batches the lane of index i has in flight.
func (s *Set) InFlight(i int) int { return int(s.gauges[i].InFlight.Load()) }

// Turn returns a number that is one more with every call, for strategies that take turns. It
// starts again at 0 after 2³²-1.
func (s *Set) Turn() uint32 { return s.turn.Add(1) - 1 }

// RoundRobin takes the lanes in turn.
func RoundRobin(s *Set, _ int64) int { return int(s.Turn() % uint32(s.Len())) }

// LeastUsed takes the lane with the fewest batches in flight. Among equals it takes the next one
// after a random place, so that callers at the same moment do not all take the first.
func LeastUsed(s *Set, _ int64) int {
	n := s.Len()
	best := int(rand.Uint32N(uint32(n))) // taking turns needs a counter that all callers write
	least := s.InFlight(best)
	for i, k := best, 1; k < n && least > 0; k++ {
		if i++; i == n {
			i = 0
		}
		if used := s.InFlight(i); used < least {
			best, least = i, used
		}
	}
	return best
}

// PowerOfTwo takes the less used of two random lanes. It is nearly as even as LeastUsed, and
// costs the same for any number of lanes.
// Source: M. Mitzenmacher, "The Power of Two Choices in Randomized Load
// Balancing", IEEE TPDS 12(10), 2001.
func PowerOfTwo(s *Set, _ int64) int {
	n := uint32(s.Len())
	if n == 1 {
		return 0
	}
	r := rand.Uint64()
	a := uint32(r>>32) % n
	b := (a + 1 + uint32(r)%(n-1)) % n
	if s.InFlight(int(b)) < s.InFlight(int(a)) {
		return int(b)
	}
	return int(a)
}

// Affinity takes the same lane for callers on the same processor (a P of Go's scheduler), so
// that they share writes more often. A garbage collection may change the lane.
func Affinity(s *Set, _ int64) int {
	token, _ := processors.Get().(*uint32)
	i := int(*token % uint32(s.Len()))
	processors.Put(token)
	return i
}

// ByKey takes the same lane for batches with the same key. When a lane is lost or comes back,
// only the keys of that lane change lanes. It uses rendezvous hashing: the lane with the highest
// score for the key. Batches without a key go as with [FirstFit]. Source: D. Thaler, C.
// Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM Transactions on
// Networking 6(1), 1998.
//
// Under package cluster the key is a slot. With cluster.BySlot all batches of a slot travel on
// one lane. With cluster.ByNode, the default, a batch holds commands of many slots, and the slot
// of the first one counts.
func ByKey(s *Set, key int64) int {
	if key < 0 {
		return FirstFit(s, key)
	}
	k := mix(uint64(key))
	best, most := 0, uint64(0)
	for i, g := range s.gauges {
		// One wide multiplication mixes enough, as both are spread already.
		hi, lo := bits.Mul64(k^g.ID, 0x9E3779B97F4A7C15)
		if score := hi ^ lo; score >= most {
			best, most = i, score
		}
	}
	return best
}

// mix spreads a number over all 64 bits. Source: G. Steele, D. Lea, C. Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// A sync.Pool keeps one free item for each P. It is the cheapest way to a number that belongs to
// a P without the runtime's internals.
var (
	processors = sync.Pool{New: func() any { n := tokens.Add(1) - 1; return &n }}
	tokens     atomic.Uint32
)

// firstFitDepth is how many batches FirstFit lets queue on a lane. With 1,000 callers 512 made up to 1.4
// times the requests of 128 and as many with 100 (BenchmarkLanes).
const firstFitDepth = 512

// FirstFit takes the first lane that has fewer than 512 batches in flight, or else the least used
// lane. So batches pack onto one lane, where they share reads and writes, and spill to the next
// lane when that one is crowded.
func FirstFit(s *Set, _ int64) int {
	best, least := 0, int(^uint(0)>>1)
	for i := range s.Len() {
		used := s.InFlight(i)
		if used < firstFitDepth {
			return i
		}
		if used < least {
			best, least = i, used
		}
	}
	return best
}
