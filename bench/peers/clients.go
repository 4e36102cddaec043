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
)

// A request sends INCRBY and EXPIRE for all keys, or GET, and checks every reply.
type request func(ctx context.Context, keys []string) error

// A counting sends INCRBY key 1 and EXPIRE for each of the keys, and notes what the client says
// of each INCRBY. It returns an error if one of all commands failed.
type counting func(ctx context.Context, counts []count) error

// A count is a key, and what became of its INCRBY.
type count struct {
	key   string
	total int64
	err   error
}

// checked makes a request of a counting.
func (c counting) checked() request {
	var counts []count
	return func(ctx context.Context, keys []string) error {
		counts = counts[:0]
		for _, key := range keys {
			counts = append(counts, count{key: key})
		}
		if err := c(ctx, counts); err != nil {
			return err
		}
		for _, one := range counts {
			if one.err != nil || one.total < 1 {
				return fmt.Errorf("total %d: %w", one.total, one.err)
			}
		}
		return nil
	}
}

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

// A session is a client that is connected. Its functions return requests of one caller, which may
// keep memory between calls. It has those that the client takes part with.
type session struct {
	counting func(ttl time.Duration) counting
	reading  func() request // GET of each key, whose values are largeValue bytes
	deciding func() request // about each key, by a rate limiter
	close    func()
}

// clients returns ours first. How each is configured, and why, is in README.md.
func clients() []client {
	return []client{
		ours(oursAlone, pool.Laned{}),
		ourCounters(counters, true), ourCounters(countersOnce, false),
		rueidisClient("rueidis", 0), rueidisClient("rueidis-20us", 20*time.Microsecond), rueidisClient("rueidis-100us", 100*time.Microsecond),
		goRedis(50), goRedisAuto("go-redis-auto", false), goRedisAuto("go-redis-auto-duplex", true),
		radixClient(10, true),
	}
}

// radixBySize is radix with pools of several sizes, one slot after the other or all at once.
func radixBySize() (all []client) {
	for _, size := range radixSizes {
		all = append(all, radixClient(size, false), radixClient(size, true))
	}
	return all
}

var radixSizes = []int{4, 10, 50, 100}

func ours(name string, kind pool.Config) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		c, err := cluster.Config{Pool: kind, Dialer: lanes.Dialer{TLS: t.tls, NetDial: t.dial}}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		return &session{
			counting: func(ttl time.Duration) counting { return ourCounting(pipeline.New(c), ttl) },
			reading:  func() request { return ourReading(pipeline.New(c)) },
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func ourCounting(p *pipeline.Pipeline, ttl time.Duration) counting {
	var totals []pipeline.Reply
	return func(ctx context.Context, counts []count) error {
		p.Reset()
		totals = totals[:0]
		for _, c := range counts {
			totals = append(totals, p.IncrBy(c.key, 1))
			p.Expire(c.key, ttl)
		}
		err := p.Do(ctx)
		for i, total := range totals {
			counts[i].total, counts[i].err = total.Int()
		}
		return err
	}
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

// counters is ours with hits on one key merged. It sets the time to live with each hit, as the
// others do; countersOnce does so where the key may have none, which is the default.
const counters, countersOnce = "ours-counters", "ours-counters-once"

func ourCounters(name string, everyHit bool) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		c, err := cluster.Config{Dialer: lanes.Dialer{TLS: t.tls, NetDial: t.dial}}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		all := pipeline.CountersConfig{ExpireEveryHit: everyHit}.New(c)
		return &session{
			counting: func(ttl time.Duration) counting { return countersCounting(all, ttl) },
			close:    func() { _ = all.Close(); _ = c.Close() },
		}, nil
	}}
}

func countersCounting(all *pipeline.Counters, ttl time.Duration) counting {
	var hits []pipeline.Hit
	return func(ctx context.Context, counts []count) error {
		hits = hits[:0]
		for _, c := range counts {
			hits = append(hits, pipeline.Hit{Key: c.key, By: 1, TTL: ttl})
		}
		err := all.Hit(ctx, hits)
		for i, h := range hits {
			counts[i].total, counts[i].err = h.Total, h.Err
		}
		return err
	}
}

// rueidisClient is rueidis that waits for so long, at most, for others to share a write with.
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
			counting: func(ttl time.Duration) counting { return rueidisCounting(c, ttl) },
			reading:  func() request { return rueidisReading(c) },
			close:    c.Close,
		}, nil
	}}
}

func rueidisCounting(c rueidis.Client, ttl time.Duration) counting {
	return func(ctx context.Context, counts []count) (failed error) {
		commands := make(rueidis.Commands, 0, 2*len(counts))
		for _, one := range counts {
			commands = append(commands, c.B().Incrby().Key(one.key).Increment(1).Build(),
				c.B().Expire().Key(one.key).Seconds(int64(ttl.Seconds())).Build())
		}
		for i, r := range c.DoMulti(ctx, commands...) {
			n, err := r.AsInt64()
			if i%2 == 0 {
				counts[i/2].total, counts[i/2].err = n, err
			}
			if err != nil {
				failed = err
			}
		}
		return failed
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
			counting: func(ttl time.Duration) counting { return goRedisCounting(c, ttl) },
			reading:  func() request { return goRedisReading(c) },
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func goRedisCounting(c *redis.ClusterClient, ttl time.Duration) counting {
	var totals []*redis.IntCmd
	return func(ctx context.Context, counts []count) error {
		p := c.Pipeline()
		totals = totals[:0]
		for _, one := range counts {
			totals = append(totals, p.IncrBy(ctx, one.key, 1))
			p.Expire(ctx, one.key, ttl)
		}
		_, err := p.Exec(ctx)
		for i, r := range totals {
			counts[i].total, counts[i].err = r.Result()
		}
		return err
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
			counting: func(ttl time.Duration) counting { return goRedisAutoCounting(auto, ttl) },
			close:    func() { _ = c.Close() },
		}, nil
	}}
}

func goRedisAutoCounting(auto *redis.AutoPipeliner, ttl time.Duration) counting {
	var totals []*redis.IntCmd
	var set []*redis.BoolCmd
	return func(ctx context.Context, counts []count) (failed error) {
		totals, set = totals[:0], set[:0]
		for _, c := range counts {
			totals = append(totals, auto.IncrBy(ctx, c.key, 1))
			set = append(set, auto.Expire(ctx, c.key, ttl))
		}
		for i, r := range totals { // they wait for the replies
			counts[i].total, counts[i].err = r.Result()
			if _, err := set[i].Result(); err != nil {
				failed = err
			}
		}
		return failed
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

func radixName(size int, parallel bool) string {
	return fmt.Sprintf("radix-%d-%s", size, map[bool]string{true: "parallel", false: "sequential"}[parallel])
}

// radixClient is radix as rate limiters use it: its Cluster performs a pipeline only within one
// slot, so there is one for each key, all at once or one after the other.
func radixClient(size int, parallel bool) client {
	return client{radixName(size, parallel), func(ctx context.Context, t target) (*session, error) {
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
		counting := func(ttl time.Duration) counting {
			return func(ctx context.Context, counts []count) error { return radixCounting(ctx, c, counts, ttl, parallel) }
		}
		return &session{counting: counting, close: func() { _ = c.Close() }}, nil
	}}
}

func radixCounting(ctx context.Context, c *radix.Cluster, counts []count, ttl time.Duration, parallel bool) error {
	if !parallel || len(counts) == 1 {
		var failed error
		for i := range counts {
			if counts[i].err = failed; failed == nil {
				failed = counts[i].overRadix(ctx, c, ttl)
			}
		}
		return failed
	}
	var all sync.WaitGroup
	for i := range counts {
		all.Go(func() { _ = counts[i].overRadix(ctx, c, ttl) }) // each has its own error
	}
	all.Wait()
	return nil
}

// overRadix sends a pipeline for the key. Radix has one error for all of its commands.
func (o *count) overRadix(ctx context.Context, c *radix.Cluster, ttl time.Duration) error {
	var set int64
	p := radix.NewPipeline()
	p.Append(radix.FlatCmd(&o.total, "INCRBY", o.key, 1))
	p.Append(radix.FlatCmd(&set, "EXPIRE", o.key, int64(ttl.Seconds())))
	o.err = c.Do(ctx, p)
	return o.err
}
