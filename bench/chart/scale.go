package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Scale is what a vertical axis measures.
type Scale uint8

// The scales.
const (
	Amount  Scale = iota // from 0, with k and M
	Latency              // milliseconds, logarithmic
	Powers               // logarithmic, with powers of ten
)

// mark sets the bounds and the ticks.
func (s Scale) mark(a *plot.Axis) {
	if s == Amount {
		a.Min, a.Tick.Marker = 0, numbers(plot.DefaultTicks{})
		return
	}
	a.Scale = plot.LogScale{}
	if !(a.Min > 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 0.01, 1
	}
	if s == Powers {
		a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(a.Min))), math.Pow(10, math.Ceil(math.Log10(a.Max)))
		a.Tick.Marker = numbers(plot.LogTicks{Prec: -1})
		return
	}
	a.Min, a.Max, a.Tick.Marker = below(a.Min), above(a.Max), plot.TickerFunc(durations)
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
}

var steps = []float64{1, 2, 5, 10}

// below and above round to 1, 2 or 5 times a power of ten.
func below(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	return power * steps[max(0, slices.IndexFunc(steps, func(s float64) bool { return s*power > v*1.0001 })-1)]
}

func above(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	return power * steps[slices.IndexFunc(steps, func(s float64) bool { return s*power >= v*0.9999 })]
}

// durations are ticks at 1, 2 and 5 times powers of ten of milliseconds.
func durations(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range steps[:3] {
			if v := m * math.Pow(10, e); v >= low*0.999 && v <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: milliseconds(v)})
			}
		}
	}
	return ticks
}

// milliseconds writes them with the unit that suits them.
func milliseconds(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.4g s", ms/1000)
	case ms >= 1:
		return fmt.Sprintf("%.4g ms", ms)
	}
	return fmt.Sprintf("%.4g µs", ms*1000)
}

// numbers are ticks with short labels: 20k, 3M.
func numbers(of plot.Ticker) plot.TickerFunc {
	return func(low, high float64) []plot.Tick {
		ticks := of.Ticks(low, high)
		for i, t := range ticks {
			if t.Label != "" {
				ticks[i].Label = Number(t.Value)
			}
		}
		return ticks
	}
}

// Number shortens large numbers.
func Number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}

// wide is how many times the least the largest tick is, from which on an axis is logarithmic.
const wide = 8

// mark puts a tick at each number, with a label as far as there is room.
func (a *Axis) mark(p *plot.Plot) {
	if len(a.Ticks) == 0 {
		return
	}
	sorted := slices.SortedFunc(slices.Values(a.Ticks), func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	if low, high := sorted[0].Value, sorted[len(sorted)-1].Value; low > 0 && high/low >= wide {
		p.X.Scale = plot.LogScale{}
		p.X.Label.Text += " (logarithmic)"
	}
	p.X.Tick.Marker = spaced{sorted, p.X.Scale, p.X.Tick.Label}
}

// spaced ticks are labelled where the labels do not overlap, from the left, the last
// one before all others.
type spaced struct {
	ticks []plot.Tick
	scale plot.Normalizer
	style draw.TextStyle
}

// Ticks is part of plot.Ticker.
func (s spaced) Ticks(low, high float64) []plot.Tick {
	const space = width - 1.1*vg.Inch // what the other axis leaves
	ticks := slices.Clone(s.ticks)
	span := func(tick plot.Tick) (left, right vg.Length) {
		middle := vg.Length(s.scale.Normalize(low, high, tick.Value)) * space
		half := s.style.Width(tick.Label)/2 + vg.Points(3)
		return middle - half, middle + half
	}
	last := len(ticks) - 1
	lastLeft, _ := span(ticks[last])
	end := vg.Length(-1000)
	for i := range ticks[:last] {
		left, right := span(ticks[i])
		if left < end || right > lastLeft {
			ticks[i].Label = ""
			continue
		}
		end = right
	}
	return ticks
}
