package lanes

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// A Strategy chooses one lane of a set that is not empty and returns its
// index, 0 to set.Len()-1. It runs for every batch, from many goroutines at
// once, so it must be safe for concurrent use, fast, and must not block. If
// the lane is full, the lanes after it are tried in turn.
//
// [FirstFit], [RoundRobin], [LeastUsed], [Affinity] and [PowerOfTwo] are
// strategies, and so is any function that a user writes.
type Strategy func(set *Set) int

// A Set is the open lanes of one server, at one moment. It does not change.
// All methods are safe for concurrent use.
type Set struct {
	lanes []*Lane
	turn  *atomic.Uint32
}

// NewSet returns a Set of the lanes, which it keeps. The sets of one server
// share the turn.
func NewSet(lanes []*Lane, turn *atomic.Uint32) *Set { return &Set{lanes, turn} }

// Len returns the number of lanes.
func (s *Set) Len() int { return len(s.lanes) }

// Lane returns the lane of index i.
func (s *Set) Lane(i int) *Lane { return s.lanes[i] }

// InFlight returns how many batches the lane of index i has in flight.
func (s *Set) InFlight(i int) int { return s.lanes[i].InFlight() }

// Turn returns a number that is one more with every call, for strategies that
// take turns; it starts again at 0 after 2³²-1.
func (s *Set) Turn() uint32 { return s.turn.Add(1) - 1 }

// RoundRobin takes the lanes in turn.
func RoundRobin(s *Set) int { return int(s.Turn() % uint32(s.Len())) }

// LeastUsed takes the lane with the fewest batches in flight; among equals,
// they take turns, so that idle lanes share the load.
func LeastUsed(s *Set) int {
	n := s.Len()
	best := int(s.Turn() % uint32(n))
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
func PowerOfTwo(s *Set) int {
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
func Affinity(s *Set) int {
	token, _ := processors.Get().(*uint32)
	i := int(*token % uint32(s.Len()))
	processors.Put(token)
	return i
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

// FirstFit takes the first lane that has fewer than 512 batches in flight, or
// else the least used. Traffic packs onto one lane, where batches share reads
// and writes, and spills onto the next when that one is slow or crowded.
func FirstFit(s *Set) int {
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
