package sim

import (
	"math/rand/v2"
	"slices"
)

// A concern is what a source of randomness is for. Each has its own, so that
// what one of them draws changes nothing for the others: without one of its
// faults, a seed's world is otherwise the same.
type concern uint64

const (
	ofTopology concern = iota + 1
	ofConfig
	ofSchedule
	ofNetwork
	ofModel
	ofCall // with the number of the caller and that of its call
	ofLimits
	ofNAT
	ofServers
	ofHabits // of counters
	ofDialect
)

// source returns the source of a seed for a concern. Part tells several of one
// concern apart.
func source(seed uint64, c concern, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed)+uint64(c), mix(part)^uint64(c)))
}

// derived returns a seed for those who make their own source.
func derived(seed uint64, c concern) uint64 { return source(seed, c, 0).Uint64() }

// mix is the finalizer of SplitMix64: seeds that are neighbours have nothing in
// common behind it.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// chance reports true once in n times.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// oneOf returns one of the values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// byWeight returns one of the values, each as often as its weight says.
func byWeight[T any](r *rand.Rand, values []T, weight func(T) int) *T {
	all := 0
	for _, v := range values {
		all += weight(v)
	}
	n := r.IntN(all)
	return &values[slices.IndexFunc(values, func(v T) bool { n -= weight(v); return n < 0 })]
}
