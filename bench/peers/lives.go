package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"

	"github.com/redislanes/redislanes/bench/internal/child"
)

// A life is a process that hits a key and ends without Close. Its answer is how many hits were allowed.
var lived = child.NewRole("life", life.live)

type life struct {
	Addrs []string
	Key   string
	Rate  float64       // hits a second
	Lasts time.Duration // on average
}

// together is how many processes hit a key at the same time.
const together = 10

// printLives prints how many hits are lost with processes that end without Close, beside those that they have used.
func (p *peers) printLives(ctx context.Context) error {
	fmt.Print("| hits/s of a process | it lives | used | lost | lost beside used |\n|---|---|---|---|---|\n")
	for _, rate := range []float64{3, 10, 100, 1000} {
		for _, lasts := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second} {
			l := life{p.addrs, fmt.Sprint(rate, lasts), rate, lasts}
			used, counted, err := l.all(ctx)
			if err != nil {
				return err
			}
			fmt.Printf("| %.0f | %v | %d | %d | %.0f %% |\n", rate, lasts, used, counted-used, 100*float64(counted-used)/float64(used))
		}
	}
	return nil
}

// all runs the processes. It returns how many hits they have used, and how many are counted.
func (l life) all(ctx context.Context) (used, counted int64, err error) {
	var answers [together]int64
	var errs [together]error
	var processes sync.WaitGroup
	for i := range together {
		processes.Go(func() {
			p, n, err := lived.Start(ctx, l)
			if answers[i] = n; err == nil {
				err = p.Close()
			}
			errs[i] = err
		})
	}
	processes.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return 0, 0, err
	}
	for _, n := range answers {
		used += n
	}
	limiter, r, err := l.limiter(ctx)
	if err != nil {
		return 0, 0, err
	}
	r.Look = true
	d := limiter.Allow(ctx, r)
	return used, d.Quota - d.Remaining, d.Err
}

func (l life) limiter(ctx context.Context) (*limit.Limiter, limit.Request, error) {
	client, err := cluster.Config{}.New(ctx, l.Addrs)
	if err != nil {
		return nil, limit.Request{}, err
	}
	limiter, err := limit.Config{Budget: 10 * time.Second}.New(client)
	if err != nil {
		return nil, limit.Request{}, err
	}
	of, err := limit.Rule{Name: "lives", Quota: 1_000_000_000, Window: 366 * 24 * time.Hour}.New(limiter)
	return limiter, limit.Request{Limit: of, Key: l.Key}, err
}

// live hits the key at random times and leaves without Close.
func (l life) live() (used int64, err error) {
	ctx := context.Background()
	limiter, r, err := l.limiter(ctx)
	if err != nil {
		return 0, err
	}
	next := time.Now()
	end := next.Add(time.Duration((0.5 + rand.Float64()) * float64(l.Lasts)))
	for next.Before(end) {
		time.Sleep(time.Until(next))
		d := limiter.Allow(ctx, r)
		if d.Err != nil {
			return 0, d.Err
		}
		used++
		next = next.Add(time.Duration(rand.ExpFloat64() / l.Rate * float64(time.Second)))
	}
	time.Sleep(time.Until(end))
	return used, nil
}
