package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
)

type quotaSettings struct {
	TTL      time.Duration `name:"quota-ttl" default:"10s" help:"Time to live of assignments of the rate limit quota service, in whole seconds."`
	Delivery time.Duration `name:"quota-delivery" default:"500ms" help:"How long an assignment takes to reach its client, at most."`
}

func (q *quotaSettings) config(client *cluster.Client, store *rules.Store, prefix string, log *slog.Logger) quota.Config {
	return quota.Config{Client: client, Rules: store, Prefix: prefix, TTL: q.TTL, Delivery: q.Delivery, Log: log}
}

func (q *quotaSettings) check() error {
	var errs []error
	if q.TTL < time.Second || q.TTL%time.Second != 0 {
		errs = append(errs, fmt.Errorf("--quota-ttl = %v: must be whole seconds, at least 1", q.TTL))
	}
	if q.Delivery < 10*time.Millisecond || q.Delivery > q.TTL/2 {
		errs = append(errs, fmt.Errorf("--quota-delivery = %v: must be at least 10ms, and at most half of --quota-ttl", q.Delivery))
	}
	return errors.Join(errs...)
}
