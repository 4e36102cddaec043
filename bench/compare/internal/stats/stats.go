package stats

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
	moremath "github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat"
)

// Percents are the percentiles that a report has.
var Percents = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99}

// Moments describe a distribution. With fewer than four values the higher ones
// are 0, as they are if all values are the same.
type Moments struct {
	Mean     float64 `json:"mean"`
	StdDev   float64 `json:"standard_deviation"` // of a sample
	CV       float64 `json:"cv"`                 // coefficient of variation: standard deviation by mean
	Skewness float64 `json:"skewness"`           // of a sample, adjusted; 0 is symmetric
	Kurtosis float64 `json:"excess_kurtosis"`    // of a sample, adjusted; 0 is that of a normal distribution
}

// Describe returns the moments of a histogram, in its unit. They are as exact as
// its three digits.
func Describe(h *hdrhistogram.Histogram) Moments {
	var values, counts []float64
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			values = append(values, float64(bar.From+bar.To)/2)
			counts = append(counts, float64(bar.Count))
		}
	}
	return describe(values, counts)
}

// describe returns the moments of values that occur so often.
func describe(values, counts []float64) Moments {
	if len(values) == 0 {
		return Moments{}
	}
	mean, deviation := stat.MeanStdDev(values, counts)
	m := Moments{Mean: mean, StdDev: finite(deviation)}
	if mean != 0 {
		m.CV = m.StdDev / mean
	}
	n := 0.0
	for _, c := range counts {
		n += c
	}
	if n >= 4 && m.StdDev > 0 {
		m.Skewness = finite(stat.Skew(values, counts))
		m.Kurtosis = finite(stat.ExKurtosis(values, counts))
	}
	return m
}

// finite returns 0 for what a distribution of too few values does not have, and
// JSON cannot say.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// Alpha is the level below which a difference counts as significant.
const Alpha = 0.05

// A Test is the comparison of one figure of two endpoints.
type Test struct {
	Ratio float64 `json:"ratio"` // of the medians, to the first endpoint's
	P     float64 `json:"p"`     // two-sided; 1 if nothing can be said
	N     [2]int  `json:"n"`     // rounds
}

// Significant reports whether the rounds differ by more than chance.
func (t Test) Significant() bool { return t.P < Alpha }

// Compare tests whether a figure of an endpoint differs from that of the first
// one, by the Mann-Whitney U test over one value for each round.
//
// Latencies themselves are no sample for a test: those of one round depend on
// each other and on what the machine did just then, and there are millions of
// them, so every difference would be significant. Rounds are what repeats. They
// are few, of no known distribution, and now and then one is far off, so the test
// goes by ranks; it is exact for numbers as small as these, also with ties. Three
// rounds each cannot reach 0.05: it takes four (the least p is then 0.029).
//
// Source: H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random
// Variables is Stochastically Larger than the Other", Ann. Math. Statist. 18(1),
// 1947.
func Compare(first, other []float64) Test {
	t := Test{P: 1, N: [2]int{len(first), len(other)}}
	if m := Median(first); m != 0 {
		t.Ratio = Median(other) / m
	}
	result, err := moremath.MannWhitneyUTest(first, other, moremath.LocationDiffers)
	if err != nil { // too few values, or all the same
		return t
	}
	t.P = finite(result.P)
	return t
}

// Median returns the middle of the values; 0 without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := moremath.Sample{Xs: append([]float64(nil), values...)}
	return s.Sort().Quantile(0.5)
}
