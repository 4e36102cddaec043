package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// A load is callers in a closed loop.
type load struct {
	scenario scenario
	callers  []func(context.Context) error
}

func newLoad(s scenario, callers int, opened *session) *load {
	l := &load{scenario: s}
	newCaller := opened.deciding
	switch {
	case s.reading:
		newCaller = opened.reading
	case newCaller == nil:
		newCaller = func() request { return opened.counting(keys.TTL).checked() }
	}
	for i := range callers {
		send, random := newCaller(), rand.New(rand.NewPCG(uint64(i), 0))
		var drawn []string
		l.callers = append(l.callers, func(ctx context.Context) error {
			drawn = s.draw(drawn, random)
			return send(ctx, drawn)
		})
	}
	return l
}

// run lets the callers send, and returns what they did.
func (l *load) run(ctx context.Context, during time.Duration) (turn, error) {
	calls := countCalls()
	r, err := closed.Run(ctx, l.callers, during)
	calls = countCalls().minus(calls)
	return turn{
		Keys: l.scenario.keys(), Requests: r.Requests, Took: r.Took, CPU: r.CPU, Mallocs: r.Mallocs, Allocated: r.Allocated,
		Reads: calls.reads, Writes: calls.writes, P50: r.At(50), P99: r.At(99), P999: r.At(99.9),
	}, err
}
