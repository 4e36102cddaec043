package verdict

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVerdict(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		step Step
		want Verdict
	}{
		"fast":                        {Step{Target: 100, Actual: 100, Successes: 1000, P99: 1 * ms}, Excellent},
		"just excellent":              {Step{Target: 100, Actual: 100, Successes: 1000, P99: 10*ms - 1}, Excellent},
		"just good":                   {Step{Target: 100, Actual: 100, Successes: 1000, P99: 10 * ms}, Good},
		"still good":                  {Step{Target: 100, Actual: 100, Successes: 1000, P99: 50*ms - 1}, Good},
		"just acceptable":             {Step{Target: 100, Actual: 100, Successes: 1000, P99: 50 * ms}, Acceptable},
		"still acceptable":            {Step{Target: 100, Actual: 100, Successes: 1000, P99: 150*ms - 1}, Acceptable},
		"just degraded":               {Step{Target: 100, Actual: 100, Successes: 1000, P99: 150 * ms}, Degraded},
		"one percent fails":           {Step{Target: 100, Actual: 99, Successes: 990, Failures: 10, P99: 1 * ms}, Excellent},
		"more than one percent fails": {Step{Target: 100, Actual: 99, Successes: 989, Failures: 11, P99: 1 * ms}, Breaking},
		"95 % of the target":          {Step{Target: 100, Actual: 95, Successes: 1000, P99: 60 * ms}, Acceptable},
		"less than 95 %":              {Step{Target: 100, Actual: 94.9, Successes: 1000, P99: 1 * ms}, Breaking},
		"nothing succeeds":            {Step{Target: 100, Failures: 1000}, Breaking},
		"nothing at all":              {Step{Target: 100}, Breaking},
		"the driver is late":          {Step{Target: 100, Failures: 1000, P99: 900 * ms, Late: 500 * ms}, Inconclusive},
		"late, and refused":           {Step{Target: 100, Failures: 1000, Refused: 11, P99: 900 * ms, Late: 500 * ms}, Breaking},
		"late, and the service slow":  {Step{Target: 100, Failures: 1000, P99: 900 * ms, Late: 400 * ms}, Breaking},
		"late, and still excellent":   {Step{Target: 100, Actual: 100, Successes: 1000, P99: 9 * ms, Late: 8 * ms}, Excellent},
		"interrupted":                 {Step{Target: 100, Failures: 1000, Interrupted: true}, Interrupted},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.step.Verdict()) })
	}
}

func TestWhy(t *testing.T) {
	require.Equal(t, "1.10 % of the requests failed, more than 1 %", Step{Target: 100, Actual: 90, Successes: 989, Failures: 11}.Why())
	require.Equal(t, "the actual rate was 90.0 % of the target, less than 95 %", Step{Target: 100, Actual: 90, Successes: 900}.Why())
	require.Empty(t, Step{Target: 100, Actual: 100, Successes: 1000}.Why())
}

// held and broke are steps of which the target alone matters.
func held(target int) Step  { return Step{Target: target, Actual: float64(target), Successes: 1} }
func broke(target int) Step { return Step{Target: target, Failures: 1} }
func late(target int) Step {
	return Step{Target: target, Failures: 1, P99: time.Second, Late: time.Second}
}

// TestPlanEndsWhereTheDriverEnds: no further steps, and no gap is halved for ever.
func TestPlanEndsWhereTheDriverEnds(t *testing.T) {
	_, more := Plan{From: 10, To: 20, Step: 10, Max: 100}.Next([]Step{held(10), late(20)})
	require.False(t, more)
	rate, more := Plan{From: 10, To: 20, Step: 10, Max: 100}.Next([]Step{late(10), held(20)})
	require.True(t, more, "the driver has not ended at 10 if 20 held")
	require.Equal(t, 30, rate)
	plan := Plan{From: 10, To: 20, Step: 10, Max: 100, Refine: 1}
	rate, more = plan.Next([]Step{held(10), broke(20)})
	require.True(t, more)
	require.Equal(t, 15, rate)
	_, more = plan.Next([]Step{held(10), broke(20), late(15)})
	require.False(t, more)
}

func TestSummarize(t *testing.T) {
	cut := held(40)
	cut.Interrupted = true
	for name, c := range map[string]struct {
		steps []Step
		want  Summary
	}{
		"none":                  {nil, Summary{}},
		"all hold":              {[]Step{held(10), held(20), held(30)}, Summary{Recommended: 24, Limit: 30}},
		"none holds":            {[]Step{broke(10), broke(20)}, Summary{Breaking: 10}},
		"one breaks":            {[]Step{held(10), held(20), broke(30)}, Summary{Recommended: 16, Limit: 20, Breaking: 30}},
		"refined, in any order": {[]Step{held(10), broke(20), broke(15), held(12), held(13), broke(14)}, Summary{Recommended: 10, Limit: 13, Breaking: 14}},
		"one holds above": {[]Step{held(10), broke(20), held(30), broke(40)},
			Summary{Recommended: 8, Limit: 10, Breaking: 20, HeldAbove: 30}},
		"one is inconclusive":       {[]Step{held(10), late(20), late(30)}, Summary{Recommended: 8, Limit: 10, Inconclusive: 20}},
		"a low one is inconclusive": {[]Step{late(10), held(20), held(30)}, Summary{Recommended: 24, Limit: 30}},
		"the first and the last are inconclusive": {[]Step{late(10), held(20), late(30), late(40)},
			Summary{Recommended: 16, Limit: 20, Inconclusive: 30}},
		"a low one is inconclusive, a high one breaks": {[]Step{late(10), held(20), broke(30)}, Summary{Recommended: 16, Limit: 20, Breaking: 30}},
		"the last is interrupted":                      {[]Step{held(10), held(30), cut}, Summary{Recommended: 24, Limit: 30}},
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
		"refined":                    {Plan{From: 1000, To: 2000, Step: 1000, Max: 9000, Refine: 5}, 2300, 0, []int{1000, 2000, 3000, 2500, 2250, 2375, 2312}},
		"nothing to refine":          {Plan{From: 10, To: 20, Step: 10, Max: 30, Refine: 5}, 1000, 0, []int{10, 20, 30}},
		"refined to the last":        {Plan{From: 10, To: 20, Step: 10, Max: 20, Refine: 0.1}, 13, 0, []int{10, 20, 15, 12, 13}},
		"no limit to refine from":    {Plan{From: 10, To: 20, Step: 10, Max: 20, Refine: 5}, 1, 0, []int{10, 20}},
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

func TestPlanEndsWithAnInterruption(t *testing.T) {
	cut := held(10)
	cut.Interrupted = true
	_, more := Plan{From: 10, To: 30, Step: 10, Max: 30}.Next([]Step{cut})
	require.False(t, more)
}
