// Package stats has medians and spreads of rounds.
package stats

import (
	"fmt"

	"github.com/aclements/go-moremath/stats"
)

// A Spread is a figure over rounds.
type Spread struct{ Low, Median, High float64 }

// Of returns the spread of the values; zero without any.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	s := stats.Sample{Xs: values}.Copy().Sort()
	low, high := s.Bounds()
	return Spread{low, s.Quantile(0.5), high}
}

// Median returns the middle of the values; 0 without any.
func Median(values []float64) float64 { return Of(values).Median }

// Times returns the spread with each figure multiplied.
func (s Spread) Times(factor float64) Spread {
	return Spread{s.Low * factor, s.Median * factor, s.High * factor}
}

// String is the median with the least and the most, with the digits that tell a small ratio from nothing.
func (s Spread) String() string {
	decimals := 2
	switch {
	case s.Median < 0.01:
		decimals = 4
	case s.Median < 0.1:
		decimals = 3
	}
	return fmt.Sprintf("%.*f (%.*f to %.*f)", decimals, s.Median, decimals, s.Low, decimals, s.High)
}
