package main

import (
	"context"

	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// An adding sends INCRBY key 1 for each of the keys, which are in one slot, in the
// way of the client's requests, and returns what it says of each.
type adding func(ctx context.Context, keys []string) []error

func ourAdding(c *cluster.Client) adding {
	return func(ctx context.Context, keys []string) []error {
		p := pipeline.New(c)
		errs, totals := make([]error, len(keys)), make([]pipeline.Reply, len(keys))
		for i, key := range keys {
			totals[i] = p.IncrBy(key, 1)
		}
		_ = p.Do(ctx) // each reply has its own error
		for i, total := range totals {
			_, errs[i] = total.Int()
		}
		return errs
	}
}

func countersAdding(all *pipeline.Counters) adding {
	return func(ctx context.Context, keys []string) []error {
		errs, hits := make([]error, len(keys)), make([]pipeline.Hit, len(keys))
		for i, key := range keys {
			hits[i] = pipeline.Hit{Key: key, By: 1, TTL: cutTTL}
		}
		_ = all.Hit(ctx, hits) // each hit has its own error
		for i, hit := range hits {
			errs[i] = hit.Err
		}
		return errs
	}
}

func rueidisAdding(c rueidis.Client) adding {
	return func(ctx context.Context, keys []string) []error {
		errs, commands := make([]error, len(keys)), make(rueidis.Commands, len(keys))
		for i, key := range keys {
			commands[i] = c.B().Incrby().Key(key).Increment(1).Build()
		}
		for i, r := range c.DoMulti(ctx, commands...) {
			errs[i] = r.Error()
		}
		return errs
	}
}

func goRedisAdding(c *redis.ClusterClient) adding {
	return func(ctx context.Context, keys []string) []error {
		p := c.Pipeline()
		errs, totals := make([]error, len(keys)), make([]*redis.IntCmd, len(keys))
		for i, key := range keys {
			totals[i] = p.IncrBy(ctx, key, 1)
		}
		_, _ = p.Exec(ctx) // each command has its own error
		for i, total := range totals {
			errs[i] = total.Err()
		}
		return errs
	}
}

func goRedisAutoAdding(auto *redis.AutoPipeliner) adding {
	return func(ctx context.Context, keys []string) []error {
		errs, totals := make([]error, len(keys)), make([]*redis.IntCmd, len(keys))
		for i, key := range keys {
			totals[i] = auto.IncrBy(ctx, key, 1)
		}
		for i, total := range totals { // they wait for the replies
			_, errs[i] = total.Result()
		}
		return errs
	}
}

// radixAdding has one error for all commands of a pipeline, as radix does.
func radixAdding(c *radix.Cluster) adding {
	return func(ctx context.Context, keys []string) []error {
		errs, totals := make([]error, len(keys)), make([]int64, len(keys))
		p := radix.NewPipeline()
		for i, key := range keys {
			p.Append(radix.FlatCmd(&totals[i], "INCRBY", key, 1))
		}
		if err := c.Do(ctx, p); err != nil {
			for i := range errs {
				errs[i] = err
			}
		}
		return errs
	}
}
