package lanes

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// A Strategy chooses one lane of a set that is not empty and returns its
// index, 0 to set.Len()-1. It runs for every batch, from many goroutines at
// once, without a lock held, so it must be safe for concurrent use, fast, and must
// not block. One that panics fails the batch it was asked about, as not sent. If
// the lane is full, the lanes after it are tried in turn.
//
// The key is a number that belongs to the batch, negative if there is none. Package
// cluster gives a batch the slot of its first command that has a key.
//
// [FirstFit], [RoundRobin], [LeastUsed], [PowerOfTwo], [Affinity] and [ByKey]
// are strategies, and so is any function that a user writes.
type Strategy func(set *Set, key int64) int

// A Set is the open lanes of one server that are fit for use, at one moment. It
// does not change. All methods are safe for concurrent use.
type Set struct {
	gauges []*Gauge
	turn   *atomic.Uint32
}

// A Gauge is what a [Strategy] sees of one lane, through the [Set]. Pools keep one
// for each lane; a program makes them to test a strategy of its own.
type Gauge struct {
	ID         uint64       // another one for each lane, spread over all 64 bits; for [ByKey]
	InFlight   atomic.Int32 // batches
	LargeReply atomic.Bool  // a reply of 64 KiB or more is arriving
}

// NewSet returns the Set of the lanes with these gauges, which it keeps. The sets
// of one server share the turn; nil makes a new one.
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

// LargeReply reports whether a reply of 64 KiB or more is arriving on the lane of
// index i. Others on it have to wait for its end.
func (s *Set) LargeReply(i int) bool { return s.gauges[i].LargeReply.Load() }

// Turn returns a number that is one more with every call, for strategies that
// take turns; it starts again at 0 after 2³²-1.
func (s *Set) Turn() uint32 { return s.turn.Add(1) - 1 }

// RoundRobin takes the lanes in turn.
func RoundRobin(s *Set, _ int64) int { return int(s.Turn() % uint32(s.Len())) }

// LeastUsed takes the lane with the fewest batches in flight; among equals, the
// next one behind a place chosen at random, so that idle lanes share the load and
// callers at the same moment do not all go to the first.
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

// PowerOfTwo takes the less used of two lanes chosen at random, which is
// nearly as even as LeastUsed and costs the same for any number of lanes.
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

// Affinity takes the same lane again for callers that run on the same
// processor (a P of Go's scheduler), for as long as the garbage collector
// lets the token live: callers on one processor share a batch more often.
func Affinity(s *Set, _ int64) int {
	token, _ := processors.Get().(*uint32)
	i := int(*token % uint32(s.Len()))
	processors.Put(token)
	return i
}

// ByKey takes the same lane again for batches with the same key while the set
// is the same. When a lane is lost or comes back, only the keys that it has
// change lanes: rendezvous hashing takes the lane with the highest score for the
// key. Batches without a key go as with [FirstFit]. Source: D. Thaler, C.
// Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM
// Transactions on Networking 6(1), 1998.
//
// Under package cluster the key is a slot. With cluster.BySlot all batches of a
// slot travel on one lane. With cluster.ByNode, the default, a batch holds the
// commands of many slots and travels by the first of them: the same list of
// keys takes the same lane, but a key alone does not.
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

// A sync.Pool keeps one free item for each P: the cheapest number that
// belongs to a P and is to be had without the runtime's internals.
var (
	processors = sync.Pool{New: func() any { n := tokens.Add(1) - 1; return &n }}
	tokens     atomic.Uint32
)

// firstFitDepth is how many batches FirstFit lets queue on a lane. With 1,000
// callers 512 made up to 1.4 times the requests of 128 and as many with 100
// (BenchmarkLanes).
const firstFitDepth = 512

// FirstFit takes the first lane that has fewer than 512 batches in flight and on
// which no large reply is arriving, or else the least used. Traffic packs onto
// one lane, where batches share reads and writes, and spills onto the next when
// that one is slow, crowded or held up.
func FirstFit(s *Set, _ int64) int {
	best, least := 0, int(^uint(0)>>1)
	for i := range s.Len() {
		used := s.InFlight(i)
		if used < firstFitDepth && !s.LargeReply(i) {
			return i
		}
		if used < least {
			best, least = i, used
		}
	}
	return best
}
