package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

var strategies = map[string]lanes.Strategy{
	"": lanes.FirstFit, "first-fit": lanes.FirstFit, "round-robin": lanes.RoundRobin, "least-used": lanes.LeastUsed,
	"affinity": lanes.Affinity, "power-of-two": lanes.PowerOfTwo,
}

// settings returns what the environment says. Without REDIS_URL there are no addresses. The error names
// each variable that is wrong.
func settings(env func(string) string) (c cluster.Config, addrs []string, timeout time.Duration, err error) {
	var errs []error
	if url := env("REDIS_URL"); url != "" {
		if c, addrs, err = cluster.ParseURL(url); err != nil {
			errs = append(errs, fmt.Errorf("REDIS_URL: %w", err))
		}
	}
	if timeout, err = time.ParseDuration(cmp.Or(env("REDIS_TIMEOUT"), "10s")); err != nil || timeout < time.Millisecond {
		errs = append(errs, fmt.Errorf("REDIS_TIMEOUT = %q: want a duration such as 10s", env("REDIS_TIMEOUT")))
	}
	c.Dialer.Timeout = timeout
	number := func(name string) int {
		n, err := strconv.Atoi(cmp.Or(env(name), "0"))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s = %q: want a whole number", name, env(name)))
		}
		return n
	}
	options := pool.Options{MaxWaiters: number("REDIS_MAX_WAITERS")}
	strategy, known := strategies[env("REDIS_LANE_STRATEGY")]
	if !known {
		errs = append(errs, fmt.Errorf("REDIS_LANE_STRATEGY = %q: want first-fit, round-robin, least-used, affinity or power-of-two", env("REDIS_LANE_STRATEGY")))
	}
	size, least, count := number("REDIS_POOL_SIZE"), number("REDIS_POOL_MIN"), number("REDIS_LANES")
	switch kind := env("REDIS_POOL"); kind {
	case "", "laned":
		c.Pool = pool.Laned{Lanes: count, Strategy: strategy, Options: options}
	case "fixed":
		c.Pool = pool.Fixed{Size: size, Options: options}
	case "adaptive":
		c.Pool = pool.Adaptive{Min: least, Max: size, Options: options}
	default:
		errs = append(errs, fmt.Errorf("REDIS_POOL = %q: want laned, fixed or adaptive", kind))
	}
	if len(errs) == 0 {
		errs = append(errs, c.Validate())
	}
	return c, addrs, timeout, errors.Join(errs...)
}
