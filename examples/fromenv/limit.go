package main

import (
	"context"
	"io"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// A rule allows so many hits in a window that begins with the first of them.
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

// limit counts a hit on each key in one call, and says what it came to.
func limit(ctx context.Context, client *cluster.Client, timeout time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p := pipeline.New(client)
	totals := make([]pipeline.Reply, len(rules))
	for i, r := range rules {
		totals[i] = p.IncrBy(r.key, 1)
		p.Expire(r.key, r.window)
	}
	err := p.Do(ctx)
	for i, r := range rules {
		verdict := "ok"
		n, err := totals[i].Int()
		switch {
		case err != nil:
			verdict = "let through: " + err.Error()
		case n > r.limit:
			verdict = "over the limit"
		}
		say(out, "%-24s %d of %d in %v: %s\n", r.key, n, r.limit, r.window, verdict)
	}
	return err
}
