package main

import (
	"context"
	"io"
	"time"

	"github.com/redislanes/redislanes/bench/rawfile"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A ladder is one use of the command.
type ladder struct {
	*settings
	send     func(ctx context.Context, key int) (denied bool, err error)
	used     func() map[string]time.Duration // see [load.Step]
	progress io.Writer
	report   *report.Report
	raw      *rawfile.Writer // keeps its first error for Close
}

// run runs one step after the other, until the plan has no more or the context
// ends.
func (l *ladder) run(ctx context.Context) {
	_ = l.raw.Write(report.Line{Start: &l.report.Start})
	draw := load.Keys(l.Keys, l.Zipf, l.Seed)
	for n := 1; ctx.Err() == nil; n++ {
		rate, more := l.Plan.Next(l.report.Steps)
		if !more {
			break
		}
		if n > 1 {
			select {
			case <-time.After(l.Pause):
			case <-ctx.Done():
				continue
			}
		}
		say(l.progress, "step %d: %d requests a second for %v\n", n, rate, l.WarmUp+l.For)
		step := load.Step{
			Rate: rate, WarmUp: l.WarmUp, For: l.For, Outstanding: l.Outstanding, Timeout: l.Timeout, Key: draw, Send: l.send, Used: l.used,
		}
		measured := verdict.Of(rate, step.Run(ctx))
		if measured.Verdict == verdict.Interrupted && measured.Successes+measured.Failures == 0 {
			break
		}
		l.report.Add(measured)
		say(l.progress, "step %d: %s: %.0f/s answered, %d failed, P99 %v\n", n, measured.Verdict, measured.Actual, measured.Failures, measured.Latency.P99.Round(10*time.Microsecond))
		_ = l.raw.Write(report.Line{Step: &measured})
	}
	if l.report.Interrupted = ctx.Err() != nil; !l.report.Interrupted {
		now := time.Now().UTC().Truncate(time.Second)
		_ = l.raw.Write(report.Line{End: &now})
	}
}
