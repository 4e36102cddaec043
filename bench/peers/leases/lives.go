package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
)

// lifeEnv makes this program one of the processes of lives.
const lifeEnv = "REDISLANES_LEASES_LIFE"

// A life is a process that hits a key and ends without Close.
type life struct {
	Addrs []string
	Key   string
	Rate  float64       // hits a second
	Lasts time.Duration // on average
}

// together is how many processes hit a key at the same time.
const together = 10

// lives prints how many hits are lost with processes that end without Close, beside those that they have used.
func lives(ctx context.Context) error {
	cluster, err := servers.LaunchCluster(ctx, servers.Options{Primaries: 3})
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Print("| hits/s of a process | it lives | used | lost | lost beside used |\n|---|---|---|---|---|\n")
	for _, rate := range []float64{3, 10, 100, 1000} {
		for _, lasts := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second} {
			l := life{cluster.Addrs(), fmt.Sprint(rate, lasts), rate, lasts}
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
	task, err := json.Marshal(l)
	if err != nil {
		return 0, 0, err
	}
	var processes [together]*exec.Cmd
	var said [together]bytes.Buffer
	for i := range processes {
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), lifeEnv+"="+string(task)), &said[i], os.Stderr
		if err := c.Start(); err != nil {
			return 0, 0, err
		}
		processes[i] = c
	}
	for i, c := range processes {
		var n int64
		if err := c.Wait(); err != nil {
			return 0, 0, err
		}
		if _, err := fmt.Fscan(&said[i], &n); err != nil {
			return 0, 0, err
		}
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

// live hits the key at random times, prints how often it was allowed, and leaves without Close.
func live(ctx context.Context, task string) error {
	var l life
	if err := json.Unmarshal([]byte(task), &l); err != nil {
		return err
	}
	limiter, r, err := l.limiter(ctx)
	if err != nil {
		return err
	}
	used := 0
	next := time.Now()
	end := next.Add(time.Duration((0.5 + rand.Float64()) * float64(l.Lasts)))
	for next.Before(end) {
		time.Sleep(time.Until(next))
		d := limiter.Allow(ctx, r)
		if d.Err != nil {
			return d.Err
		}
		used++
		next = next.Add(time.Duration(rand.ExpFloat64() / l.Rate * float64(time.Second)))
	}
	time.Sleep(time.Until(end))
	fmt.Println(used)
	return nil
}
