package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
)

// What limiters are asked: to decide about a key, or about several, each of which has
// a limit of its own.
var limitScenarios = []scenario{
	{name: "one_hot_key", fixed: 1},
	{name: "one_limit", variable: 1},
	{name: "five_limits", variable: 5},
	{name: "one_limit_zipf", variable: 1, zipf: true},
	{name: "five_limits_zipf", variable: 5, zipf: true},
}

// A limit that nothing reaches: what is measured are decisions, not denials.
const (
	manyHits   = 1_000_000_000
	hitsWindow = time.Minute
)

var errDenied = errors.New("a hit was denied")

// limiters returns ours first. Those of others decide about one key in a call; of
// several, they are asked all at once.
func limiters() []client {
	return []client{
		ourLimiter("ours-fixed-window", limit.Rule{Algorithm: limit.FixedWindow}),
		ourLimiter("ours-sliding-window", limit.Rule{Algorithm: limit.SlidingWindow}),
		ourLimiter("ours-token-bucket", limit.Rule{Algorithm: limit.TokenBucket}),
		ourLimiter("ours-no-lease", limit.Rule{NoLease: true}),
		{"redis_rate", openRedisRate}, {"rueidis-two-keys", openTwoKeys},
	}
}

func ourLimiter(name string, rule limit.Rule) client {
	return client{name, func(ctx context.Context, t target) (*session, error) {
		c, err := cluster.Config{Dialer: lanes.Dialer{TLS: t.tls}}.New(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
		l, err := limit.Config{Budget: time.Minute}.New(c)
		if err != nil {
			return nil, err
		}
		var limits [5]*limit.Limit
		for i := range limits {
			rule.Name, rule.Quota, rule.Window = fmt.Sprint(name, i), manyHits, hitsWindow
			if limits[i], err = rule.New(l); err != nil {
				return nil, err
			}
		}
		decide := func() request {
			var requests []limit.Request
			return func(ctx context.Context, keys []string) error {
				requests = requests[:0]
				for i, key := range keys {
					requests = append(requests, limit.Request{Limit: limits[i], Key: key})
				}
				r := l.Allow(ctx, requests...)
				if r.Err == nil && !r.Allowed {
					return errDenied
				}
				return r.Err
			}
		}
		return &session{deciding: decide, close: func() { _ = l.Close(); _ = c.Close() }}, nil
	}}
}

// A decision is a call of a limiter that decides about one key.
type decision func(ctx context.Context, key string) error

// atOnce makes requests of decisions about one key each.
func atOnce(decide decision) request {
	return func(ctx context.Context, keys []string) error {
		if len(keys) == 1 {
			return decide(ctx, keys[0])
		}
		errs := make([]error, len(keys))
		var all sync.WaitGroup
		for i, key := range keys {
			all.Go(func() { errs[i] = decide(ctx, key) })
		}
		all.Wait()
		return errors.Join(errs...)
	}
}

func openRedisRate(_ context.Context, t target) (*session, error) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: t.addrs, TLSConfig: t.tls, PoolSize: 50, PoolTimeout: time.Minute})
	l := redis_rate.NewLimiter(c)
	most := redis_rate.Limit{Rate: manyHits, Burst: manyHits, Period: hitsWindow}
	decide := func(ctx context.Context, key string) error {
		r, err := l.Allow(ctx, key, most)
		if err == nil && r.Allowed != 1 {
			err = errDenied
		}
		return err
	}
	return &session{deciding: func() request { return atOnce(decide) }, close: func() { _ = c.Close() }}, nil
}

// twoKeys does what rueidislimiter does, whose module is not in the module proxy: the
// window's end has a key of its own, so that each decision says when it ends.
var twoKeys = rueidis.NewLuaScript(`
local now, ends = tonumber(ARGV[2]), tonumber(redis.call("GET", KEYS[2]) or 0)
if ends < now then
  ends = tonumber(ARGV[3])
  local until_then = ends + 1000
  redis.call("SET", KEYS[2], ends, "PXAT", until_then)
  redis.call("SET", KEYS[1], 0, "PXAT", until_then)
end
return {redis.call("INCRBY", KEYS[1], ARGV[1]), ends}`)

func openTwoKeys(_ context.Context, t target) (*session, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: t.addrs, TLSConfig: t.tls, DisableCache: true})
	if err != nil {
		return nil, err
	}
	decide := func(ctx context.Context, key string) error {
		hits, now := "window:{"+key+"}", time.Now()
		reply, err := twoKeys.Exec(ctx, c, []string{hits, hits + ":ends"},
			[]string{"1", strconv.FormatInt(now.UnixMilli(), 10), strconv.FormatInt(now.Add(hitsWindow).UnixMilli(), 10)}).AsIntSlice()
		if err == nil && (len(reply) != 2 || reply[0] < 1 || reply[0] > manyHits) {
			err = errDenied
		}
		return err
	}
	return &session{deciding: func() request { return atOnce(decide) }, close: c.Close}, nil
}
