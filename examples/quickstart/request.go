package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// keyTTL is the window of the rate limiter, which begins with a key's first hit:
// after that long the counter is gone, and the next hit counts as the first one.
const keyTTL = time.Minute

// descriptors are what a rate limiter counts a request by. The first two share
// a hash tag, the text in braces, and so a slot.
var descriptors = []string{
	"{user-17}:login",
	"{user-17}:search",
	"ip:203.0.113.9",
	"path:/api/v1/orders",
	"tenant:acme",
	"api-key:k-4711",
	"device:ios-17.4",
	"country:NL",
	"session:s-80291",
	"global",
}

// keyNames returns n keys. Their prefix keeps them apart from what else lives
// on a real cluster.
func keyNames(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "quickstart:" + descriptors[i%len(descriptors)]
		if round := i / len(descriptors); round > 0 {
			keys[i] += fmt.Sprintf(":%d", round+1)
		}
	}
	return keys
}

// A hit is what became of one key of a request.
type hit struct {
	key   string
	slot  uint16
	node  string // that replied, "" if none did
	total int64  // the counter after the request
	err   error
}

// send counts a hit on every key in one call. The keys may lie on any nodes;
// if one of them fails, the others have their totals all the same.
func send(ctx context.Context, p *pipeline.Pipeline, keys []string) ([]hit, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	p.Reset()
	totals := make([]pipeline.Reply, len(keys))
	for i, key := range keys {
		totals[i] = p.Count(key, 1, keyTTL) // the key is created with its time to live
	}
	err := p.Do(ctx)

	hits := make([]hit, len(keys))
	for i, key := range keys {
		total, err := totals[i].Int()
		hits[i] = hit{key: key, slot: cluster.Slot(key), node: totals[i].Node(), total: total, err: err}
	}
	return hits, err
}
