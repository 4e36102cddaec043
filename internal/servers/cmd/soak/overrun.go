package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// overrunLimits are the overruns that are counted.
var overrunLimits = [...]time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}

const worstKept = 10

// overruns counts by how much calls returned after their deadlines. The zero
// value is empty. It is not safe for concurrent use.
type overruns struct {
	late  int64 // that returned after the deadline at all
	over  [len(overrunLimits)]int64
	worst []overrun // the longest ones, longest first
}

// An overrun is one call that returned after its deadline.
type overrun struct {
	by     time.Duration
	at     time.Duration // since the beginning of the run
	during string        // the fault that was under way
}

func (o *overruns) add(v overrun) {
	if v.by <= 0 {
		return
	}
	o.late++
	for i, limit := range overrunLimits {
		if v.by > limit {
			o.over[i]++
		}
	}
	o.keep(v)
}

func (o *overruns) keep(v overrun) {
	if len(o.worst) == worstKept && v.by <= o.worst[worstKept-1].by {
		return
	}
	i, _ := slices.BinarySearchFunc(o.worst, v, func(a, b overrun) int { return cmp.Compare(b.by, a.by) })
	o.worst = slices.Insert(o.worst, i, v)
	o.worst = o.worst[:min(len(o.worst), worstKept)]
}

// merge adds what others counted.
func (o *overruns) merge(others *overruns) {
	o.late += others.late
	for i, n := range others.over {
		o.over[i] += n
	}
	for _, v := range others.worst {
		o.keep(v)
	}
}

func (o *overruns) max() time.Duration {
	if len(o.worst) == 0 {
		return 0
	}
	return o.worst[0].by
}

// An overrunSummary is overruns as they are reported.
type overrunSummary struct {
	Late    int64            `json:"late"`
	Over    map[string]int64 `json:"over"`
	WorstMS float64          `json:"worstMilliseconds"`
	Worst   []string         `json:"worst"`
}

func (o *overruns) summary() overrunSummary {
	s := overrunSummary{Late: o.late, Over: make(map[string]int64), WorstMS: milliseconds(o.max())}
	for i, limit := range overrunLimits {
		s.Over[limit.String()] = o.over[i]
	}
	for _, v := range o.worst {
		s.Worst = append(s.Worst, fmt.Sprintf("%.1f ms at %.3f s, during %s", milliseconds(v.by), v.at.Seconds(), v.during))
	}
	return s
}

func (s overrunSummary) String() string {
	text := fmt.Sprintf("%d times", s.Late)
	for _, limit := range overrunLimits {
		text += fmt.Sprintf(", >%v %d", limit, s.Over[limit.String()])
	}
	if len(s.Worst) > 0 {
		text += "; worst " + s.Worst[0]
	}
	return text
}
