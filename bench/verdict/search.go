package verdict

import (
	"cmp"
	"slices"
)

// RecommendedShare is what part of the limit is recommended.
const RecommendedShare = 0.8

// A Point is whether something held at a value: a rate, or a number of
// connections.
type Point struct {
	At    float64
	Holds bool
}

// A Limit is the highest rate that holds. 0 is none.
type Limit struct {
	Recommended float64 // 80 % of the limit
	Holds       float64 // the highest rate that holds, with all lower ones
	Breaks      float64 // the lowest rate that does not
}

// Highest finds the limit among rates in any order.
func Highest(points []Point) (l Limit) {
	for _, p := range sorted(points) {
		switch {
		case l.Breaks != 0: // what holds above is noise
		case p.Holds:
			l.Holds = p.At
		default:
			l.Breaks = p.At
		}
	}
	l.Recommended = RecommendedShare * l.Holds
	return l
}

// Fewest returns the least value that holds with all above it, and the highest of
// those below, which does not. Either may be missing, as 0.
func Fewest(points []Point) (holds, fails float64) {
	for _, p := range slices.Backward(sorted(points)) {
		if !p.Holds {
			return holds, p.At
		}
		holds = p.At
	}
	return holds, 0
}

func sorted(points []Point) []Point {
	return slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.At, b.At) })
}
