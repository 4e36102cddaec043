package verdict

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/verdict"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
)

// step returns one of a thousand requests, or as many as fail, and what is judged of it.
func step(actual float64, successes, failures int64, p99, late time.Duration, kind string) Step {
	s := Step{
		Target: 100, Actual: actual, Successes: successes, Failures: failures, FailureKinds: map[string]load.Failure{kind: {Count: failures}},
		Latency: Distribution{P99: p99}, Late: Distribution{P99: late},
	}
	s.judge()
	return s
}

func TestVerdict(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		step Step
		want verdict.Verdict
	}{
		"fast":                        {step(100, 1000, 0, 1*ms, 0, ""), verdict.Excellent},
		"just good":                   {step(100, 1000, 0, 10*ms, 0, ""), verdict.Good},
		"more than one percent fails": {step(99, 989, 11, 1*ms, 0, "Unavailable"), verdict.Breaking},
		"less than 95 %":              {step(94.9, 1000, 0, 1*ms, 0, ""), verdict.Breaking},
		"nothing at all":              {step(0, 0, 0, 0, 0, ""), verdict.Breaking},
		"the driver is late":          {step(0, 0, 1000, 900*ms, 500*ms, load.TooLate), Inconclusive},
		"late, and refused":           {step(0, 0, 1000, 900*ms, 500*ms, "Unavailable"), verdict.Breaking},
		"late, and the service slow":  {step(0, 0, 1000, 900*ms, 400*ms, load.NotSent), verdict.Breaking},
		"late, and still excellent":   {step(100, 1000, 0, 9*ms, 8*ms, ""), verdict.Excellent},
	} {
		require.Equal(t, c.want, c.step.Verdict, name)
		require.Equal(t, c.want == verdict.Breaking, c.step.Why != "", name)
	}
}

// held, broke and late are steps. Only their target and verdict matter.
func held(target int) Step  { return Step{Target: target, Verdict: verdict.Good} }
func broke(target int) Step { return Step{Target: target, Verdict: verdict.Breaking} }
func late(target int) Step  { return Step{Target: target, Verdict: Inconclusive} }
func cut(target int) Step   { return Step{Target: target, Verdict: Interrupted} }

// TestPlanEndsWhereTheDriverEnds: there are no further steps.
func TestPlanEndsWhereTheDriverEnds(t *testing.T) {
	_, more := Plan{From: 10, To: 20, Step: 10, Max: 100}.Next([]Step{held(10), late(20)})
	require.False(t, more)
	rate, more := Plan{From: 10, To: 20, Step: 10, Max: 100}.Next([]Step{late(10), held(20)})
	require.True(t, more, "the driver has not ended at 10 if 20 held")
	require.Equal(t, 30, rate)
	_, more = Plan{From: 10, To: 20, Step: 10, Max: 100}.Next([]Step{cut(10)})
	require.False(t, more)
}

func TestSummarize(t *testing.T) {
	for name, c := range map[string]struct {
		steps []Step
		want  Summary
	}{
		"none":       {nil, Summary{}},
		"all hold":   {[]Step{held(10), held(20), held(30)}, Summary{Recommended: 24, Limit: 30}},
		"none holds": {[]Step{broke(10), broke(20)}, Summary{Breaking: 10}},
		"one breaks": {[]Step{held(10), held(20), broke(30)}, Summary{Recommended: 16, Limit: 20, Breaking: 30}},
		"one holds above": {[]Step{held(10), broke(20), held(30), broke(40)},
			Summary{Recommended: 8, Limit: 10, Breaking: 20, HeldAbove: 30}},
		"one is inconclusive":       {[]Step{held(10), late(20), late(30)}, Summary{Recommended: 8, Limit: 10, Inconclusive: 20}},
		"a low one is inconclusive": {[]Step{late(10), held(20), held(30)}, Summary{Recommended: 24, Limit: 30}},
		"the first and the last are inconclusive": {[]Step{late(10), held(20), late(30), late(40)},
			Summary{Recommended: 16, Limit: 20, Inconclusive: 30}},
		"a low one is inconclusive, a high one breaks": {[]Step{late(10), held(20), broke(30)}, Summary{Recommended: 16, Limit: 20, Breaking: 30}},
		"the last is interrupted":                      {[]Step{held(10), held(30), cut(40)}, Summary{Recommended: 24, Limit: 30}},
		"rounds":                                       {[]Step{held(12_501)}, Summary{Recommended: 10_001, Limit: 12_501}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Summarize(c.steps)) })
	}
}

// TestPlan runs plans with a service that breaks at a rate.
func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		plan    Plan
		breaks  int
		hiccups int // a rate that breaks although higher ones hold
		want    []int
	}{
		"up to max":                  {Plan{From: 10, To: 30, Step: 10, Max: 55}, 1000, 0, []int{10, 20, 30, 40, 50, 55}},
		"beyond to, until it breaks": {Plan{From: 10, To: 30, Step: 10, Max: 1000}, 50, 0, []int{10, 20, 30, 40, 50}},
		"to in any case":             {Plan{From: 10, To: 40, Step: 10, Max: 1000}, 15, 0, []int{10, 20, 30, 40}},
		"one step":                   {Plan{From: 10, To: 10, Step: 10, Max: 10}, 1000, 0, []int{10}},
		"to is no step":              {Plan{From: 10, To: 25, Step: 10, Max: 30}, 1000, 0, []int{10, 20, 30}},
		"a hiccup ends it at to":     {Plan{From: 10, To: 30, Step: 10, Max: 90}, 1000, 20, []int{10, 20, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			var done []Step
			var rates []int
			for len(rates) < 100 {
				rate, more := c.plan.Next(done)
				if !more {
					break
				}
				rates = append(rates, rate)
				if rate >= c.breaks || rate == c.hiccups {
					done = append(done, broke(rate))
				} else {
					done = append(done, held(rate))
				}
			}
			require.Equal(t, c.want, rates)
		})
	}
}
