package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// A rule allows so many hits in each window. Windows follow one another by the
// clock.
type rule struct {
	key    string
	limit  int64
	window time.Duration
}

var rules = []rule{
	{"fromenv:user:42", 10, time.Second},
	{"fromenv:ip:203.0.113.9", 100, time.Minute},
	{"fromenv:path:/login", 1000, time.Minute},
}

// at returns the key that counts the hits of the window which now is in. The
// window's number is part of it, so each window begins at 0.
func (r rule) at(now time.Time) string {
	return fmt.Sprintf("%s:%d", r.key, now.UnixNano()/int64(r.window))
}

// limit counts a hit on each key in one call, and says what it came to.
func limit(ctx context.Context, client *cluster.Client, now time.Time, timeout time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p := pipeline.New(client)
	totals := make([]pipeline.Reply, len(rules))
	for i, r := range rules {
		totals[i] = p.Count(r.at(now), 1, r.window)
	}
	err := p.Do(ctx)
	for i, r := range rules {
		verdict := "ok"
		n, err := totals[i].Int()
		switch {
		case errors.Is(err, redislanes.ErrUnknownOutcome):
			verdict = "let through, perhaps counted: " + err.Error()
		case err != nil:
			verdict = "let through, not counted: " + err.Error()
		case n > r.limit:
			verdict = "over the limit"
		}
		say(out, "%-24s %d of %d in %v: %s\n", r.key, n, r.limit, r.window, verdict)
	}
	return err
}
