package main

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
)

// A ladder is one use of the command.
type ladder struct {
	*settings
	send     func(ctx context.Context, key int) (denied bool, err error)
	progress *progress
	report   *report.Report
}

// run runs one step after the other, until the plan has no more or the context
// ends.
func (l *ladder) run(ctx context.Context) {
	defer l.progress.end()
	draw := l.draw()
	for n := 1; ctx.Err() == nil; n++ {
		rate, more := l.plan.Next(l.report.Judged())
		if !more || (n > 1 && !wait(ctx, l.pause)) {
			break
		}
		l.progress.begin(n, rate, l.warmUp+l.measured)
		step := load.Step{
			Rate: rate, WarmUp: l.warmUp, For: l.measured, Outstanding: l.outstanding, Timeout: l.timeout,
			Key: draw, Send: l.send, Watch: l.progress.show,
		}
		l.report.Add(rate, step.Run(ctx))
	}
	l.report.Interrupted = ctx.Err() != nil
}

// draw returns the function that draws keys.
func (l *ladder) draw() func() int {
	if l.distribution == "zipf" && l.keys > 1 {
		return load.Zipf(l.keys, l.skew, l.seed)
	}
	return load.Uniform(l.keys, l.seed)
}

// wait lets time pass; it returns false if the context ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
