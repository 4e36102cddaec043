package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

const ttl = time.Minute

// A request sends INCRBY and EXPIRE for all keys and checks every reply.
type request func(ctx context.Context, keys []string) error

// A target is the cluster that is measured.
type target struct {
	addrs []string    // of the primaries
	tls   *tls.Config // nil: TCP

	// dial, if not nil, makes the connections, instead of what clients do by themselves.
	dial dial
}

type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// DialContext makes a dial what radix takes.
func (d dial) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

// A client is one of those that are compared.
type client struct {
	name string
	open func(ctx context.Context, t target) (*session, error)
}

// A session is a client that is connected. counting and reading make a request
// for one caller, which may keep memory between calls; reading is nil for
// clients that have no part in the measurement of large replies.
type session struct {
	counting func() request
	adding   adding         // for all callers
	reading  func() request // GET of each key, whose values are largeValue bytes
	close    func()
}

// clients returns ours first. How each is configured, and why, is in README.md.
func clients() []client {
	return []client{
		ours("ours", pool.Laned{}),
		ours("ours-fixed-50", pool.Fixed{Size: 50}),
		ourCounters(counters, true), ourCounters(countersOnce, false),
		rueidisClient("rueidis", 0), rueidisClient("rueidis-20us", 20*time.Microsecond), rueidisClient("rueidis-100us", 100*time.Microsecond),
		goRedis(10), goRedis(50), goRedis(100),
		goRedisAuto("go-redis-auto", false), goRedisAuto("go-redis-auto-duplex", true),
		radixClient("radix-parallel", 10, true), radixClient("radix-sequential", 10, false),
		radixClient("radix-50-parallel", 50, true), radixClient("radix-100-parallel", 100, true),
	}
}

func ours(name string, kind pool.Config) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		c, err := cluster.Config{Pool: kind, Dialer: lanes.Dialer{TLS: t.tls, NetDial: t.dial}}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		return &session{
			counting: func() request { return (&keys.Counter{Pipeline: pipeline.New(c)}).Count },
			reading:  func() request { return ourReading(pipeline.New(c)) },
			adding:   ourAdding(c),
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func ourReading(p *pipeline.Pipeline) request {
	var values []pipeline.Reply
	return func(ctx context.Context, keys []string) error {
		p.Reset()
		values = values[:0]
		for _, key := range keys {
			values = append(values, p.Cmd("GET", key))
		}
		if err := p.Do(ctx); err != nil {
			return err
		}
		for _, v := range values {
			if b, err := v.Bytes(); err != nil || len(b) != largeValue {
				return fmt.Errorf("%d bytes: %w", len(b), err)
			}
		}
		return nil
	}
}

// counters is ours with hits on one key merged. It sets the time to live with each
// hit, as the others do; countersOnce does so where the key may have none, which is the
// default.
const counters, countersOnce = "ours-counters", "ours-counters-once"

func ourCounters(name string, everyHit bool) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		c, err := cluster.Config{Dialer: lanes.Dialer{TLS: t.tls, NetDial: t.dial}}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		all := pipeline.CountersConfig{ExpireEveryHit: everyHit}.New(c)
		return &session{
			counting: func() request { return countersRequest(all) },
			adding:   countersAdding(all),
			close:    func() { _ = all.Close(); _ = c.Close() },
		}, nil
	}}
}

func countersRequest(all *pipeline.Counters) request {
	var hits []pipeline.Hit
	return func(ctx context.Context, keys []string) error {
		hits = hits[:0]
		for _, key := range keys {
			hits = append(hits, pipeline.Hit{Key: key, By: 1, TTL: ttl})
		}
		if err := all.Hit(ctx, hits); err != nil {
			return err
		}
		for _, h := range hits {
			if h.Total < 1 {
				return fmt.Errorf("total %d", h.Total)
			}
		}
		return nil
	}
}

// rueidisClient is rueidis that waits for so long, at most, for others to share a
// write with.
func rueidisClient(name string, flushDelay time.Duration) client {
	return client{name, func(_ context.Context, t target) (*session, error) {
		o := rueidis.ClientOption{InitAddress: t.addrs, TLSConfig: t.tls, DisableCache: true, MaxFlushDelay: flushDelay}
		if t.dial != nil {
			o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return t.dial(ctx, "tcp", addr)
			}
		}
		c, err := rueidis.NewClient(o)
		if err != nil {
			return nil, err
		}
		return &session{
			counting: func() request { return rueidisRequest(c) },
			reading:  func() request { return rueidisReading(c) },
			adding:   rueidisAdding(c),
			close:    c.Close,
		}, nil
	}}
}

func rueidisRequest(c rueidis.Client) request {
	return func(ctx context.Context, keys []string) error {
		commands := make(rueidis.Commands, 0, 2*len(keys))
		for _, key := range keys {
			commands = append(commands, c.B().Incrby().Key(key).Increment(1).Build(),
				c.B().Expire().Key(key).Seconds(int64(ttl.Seconds())).Build())
		}
		for i, r := range c.DoMulti(ctx, commands...) {
			if n, err := r.AsInt64(); err != nil || i%2 == 0 && n < 1 {
				return fmt.Errorf("reply %d: %w", n, err)
			}
		}
		return nil
	}
}

func rueidisReading(c rueidis.Client) request {
	return func(ctx context.Context, keys []string) error {
		commands := make(rueidis.Commands, 0, len(keys))
		for _, key := range keys {
			commands = append(commands, c.B().Get().Key(key).Build())
		}
		for _, r := range c.DoMulti(ctx, commands...) {
			if s, err := r.ToString(); err != nil || len(s) != largeValue {
				return fmt.Errorf("%d bytes: %w", len(s), err)
			}
		}
		return nil
	}
}

func goRedis(size int) client {
	return client{fmt.Sprintf("go-redis-%d", size), func(_ context.Context, t target) (*session, error) {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: t.addrs, TLSConfig: t.tls, Dialer: t.dial, PoolSize: size, PoolTimeout: time.Minute})
		return &session{
			counting: func() request { return goRedisRequest(c) },
			reading:  func() request { return goRedisReading(c) },
			adding:   goRedisAdding(c),
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func goRedisRequest(c *redis.ClusterClient) request {
	var totals []*redis.IntCmd
	return func(ctx context.Context, keys []string) error {
		p := c.Pipeline()
		totals = totals[:0]
		for _, key := range keys {
			totals = append(totals, p.IncrBy(ctx, key, 1))
			p.Expire(ctx, key, ttl)
		}
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
		for _, r := range totals {
			if n, err := r.Result(); err != nil || n < 1 {
				return fmt.Errorf("total %d: %w", n, err)
			}
		}
		return nil
	}
}

// goRedisAuto is go-redis with the pipelines that it makes of all callers' commands:
// one trip after the other, or commands and replies at the same time.
func goRedisAuto(name string, fullDuplex bool) client {
	return client{name, func(_ context.Context, t target) (*session, error) {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: t.addrs, TLSConfig: t.tls, Dialer: t.dial})
		options := *redis.DefaultAutoPipelineOptions()
		options.FullDuplex = fullDuplex
		auto, err := c.AsyncAutoPipelineWithOptions(&options)
		if err != nil {
			_ = c.Close()
			return nil, err
		}
		return &session{
			counting: func() request { return goRedisAutoRequest(auto) },
			adding:   goRedisAutoAdding(auto),
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func goRedisAutoRequest(auto *redis.AutoPipeliner) request {
	var totals []*redis.IntCmd
	var set []*redis.BoolCmd
	return func(ctx context.Context, keys []string) error {
		totals, set = totals[:0], set[:0]
		for _, key := range keys {
			totals = append(totals, auto.IncrBy(ctx, key, 1))
			set = append(set, auto.Expire(ctx, key, ttl))
		}
		for i, r := range totals { // they wait for the replies
			if n, err := r.Result(); err != nil || n < 1 {
				return fmt.Errorf("total %d: %w", n, err)
			}
			if _, err := set[i].Result(); err != nil {
				return err
			}
		}
		return nil
	}
}

func goRedisReading(c *redis.ClusterClient) request {
	return func(ctx context.Context, keys []string) error {
		p := c.Pipeline()
		values := make([]*redis.StringCmd, 0, len(keys))
		for _, key := range keys {
			values = append(values, p.Get(ctx, key))
		}
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
		for _, v := range values {
			if s, err := v.Result(); err != nil || len(s) != largeValue {
				return fmt.Errorf("%d bytes: %w", len(s), err)
			}
		}
		return nil
	}
}

// radixClient is radix as rate limiters use it: its Cluster performs a pipeline
// only within one slot, so there is one for each key, all at once or one after
// the other.
func radixClient(name string, size int, parallel bool) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		pools := radix.PoolConfig{Size: size}
		switch {
		case t.dial != nil:
			pools.Dialer.NetDialer = t.dial
		case t.tls != nil:
			pools.Dialer.NetDialer = &tls.Dialer{Config: t.tls}
		}
		c, err := radix.ClusterConfig{PoolConfig: pools}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		counting := func() request {
			return func(ctx context.Context, keys []string) error {
				if !parallel {
					for _, key := range keys {
						if err := radixKey(ctx, c, key); err != nil {
							return err
						}
					}
					return nil
				}
				return radixParallel(ctx, c, keys)
			}
		}
		return &session{counting: counting, adding: radixAdding(c), close: func() { _ = c.Close() }}, nil
	}}
}

func radixParallel(ctx context.Context, c *radix.Cluster, keys []string) error {
	if len(keys) == 1 {
		return radixKey(ctx, c, keys[0])
	}
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() { errs[i] = radixKey(ctx, c, key) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func radixKey(ctx context.Context, c *radix.Cluster, key string) error {
	var total, set int64
	p := radix.NewPipeline()
	p.Append(radix.FlatCmd(&total, "INCRBY", key, 1))
	p.Append(radix.FlatCmd(&set, "EXPIRE", key, int64(ttl.Seconds())))
	if err := c.Do(ctx, p); err != nil {
		return err
	}
	if total < 1 {
		return fmt.Errorf("total %d", total)
	}
	return nil
}
