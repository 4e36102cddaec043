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
// several, they are asked one after the other or all at once.
func limiters() []client {
	return []client{
		ourLimiter("ours-fixed-window", limit.Rule{Algorithm: limit.FixedWindow}),
		ourLimiter("ours-sliding-window", limit.Rule{Algorithm: limit.SlidingWindow}),
		ourLimiter("ours-token-bucket", limit.Rule{Algorithm: limit.TokenBucket}),
		ourLimiter("ours-no-lease", limit.Rule{NoLease: true}),
		{"redis_rate", openRedisRate(false)}, {"redis_rate-parallel", openRedisRate(true)},
		{"rueidis-two-keys", openScript(twoKeys, false)}, {"rueidis-two-keys-parallel", openScript(twoKeys, true)},
		{"rueidis-script", openScript(shortScript, false)}, {"rueidis-script-parallel", openScript(shortScript, true)},
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
		counting := func() request {
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
		return &session{counting: counting, close: func() { _ = l.Close(); _ = c.Close() }}, nil
	}}
}

// A decision is a call of a limiter that decides about one key.
type decision func(ctx context.Context, key string) error

// deciding makes requests of decisions about one key each.
func deciding(decide decision, parallel bool) request {
	return func(ctx context.Context, keys []string) error {
		if !parallel || len(keys) == 1 {
			for _, key := range keys {
				if err := decide(ctx, key); err != nil {
					return err
				}
			}
			return nil
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

func openRedisRate(parallel bool) func(context.Context, target) (*session, error) {
	return func(_ context.Context, t target) (*session, error) {
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
		return &session{counting: func() request { return deciding(decide, parallel) }, close: func() { _ = c.Close() }}, nil
	}
}

// A script is a fixed window in Lua, and what it is given for a key.
type script struct {
	lua  string
	keys func(key string) []string
	args func(now time.Time) []string
	hits func(reply rueidis.RedisResult) (int64, error)
}

// shortScript is the least that a fixed window takes: one key, whose time to live the
// first hit sets. It does not say when the window ends.
var shortScript = script{
	lua: `
local total = redis.call("INCRBY", KEYS[1], ARGV[1])
if total == tonumber(ARGV[1]) then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return total`,
	keys: func(key string) []string { return []string{"window:" + key} },
	args: func(time.Time) []string { return oneHit },
	hits: func(reply rueidis.RedisResult) (int64, error) { return reply.AsInt64() },
}

var oneHit = []string{"1", fmt.Sprint(hitsWindow.Milliseconds())}

// twoKeys does what rueidislimiter does, whose module is not in the module proxy: the
// window's end has a key of its own, so that each decision says when it ends.
var twoKeys = script{
	lua: `
local now, ends = tonumber(ARGV[2]), tonumber(redis.call("GET", KEYS[2]) or 0)
if ends < now then
  ends = tonumber(ARGV[3])
  local until_then = ends + 1000
  redis.call("SET", KEYS[2], ends, "PXAT", until_then)
  redis.call("SET", KEYS[1], 0, "PXAT", until_then)
end
return {redis.call("INCRBY", KEYS[1], ARGV[1]), ends}`,
	keys: func(key string) []string {
		hits := "window:{" + key + "}"
		return []string{hits, hits + ":ends"}
	},
	args: func(now time.Time) []string {
		return []string{"1", strconv.FormatInt(now.UnixMilli(), 10), strconv.FormatInt(now.Add(hitsWindow).UnixMilli(), 10)}
	},
	hits: func(reply rueidis.RedisResult) (int64, error) {
		hitsAndEnd, err := reply.AsIntSlice()
		if err != nil || len(hitsAndEnd) != 2 {
			return 0, err
		}
		return hitsAndEnd[0], nil
	},
}

// openScript decides by one script for each key, over rueidis.
func openScript(s script, parallel bool) func(context.Context, target) (*session, error) {
	return func(_ context.Context, t target) (*session, error) {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: t.addrs, TLSConfig: t.tls, DisableCache: true})
		if err != nil {
			return nil, err
		}
		lua := rueidis.NewLuaScript(s.lua)
		decide := func(ctx context.Context, key string) error {
			n, err := s.hits(lua.Exec(ctx, c, s.keys(key), s.args(time.Now())))
			if err == nil && (n < 1 || n > manyHits) {
				err = errDenied
			}
			return err
		}
		return &session{counting: func() request { return deciding(decide, parallel) }, close: c.Close}, nil
	}
}
