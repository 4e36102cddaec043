package limit_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
)

// newLimiter makes a limiter on servers in this process, in place of a Redis Cluster.
func newLimiter() (l *limit.Limiter, end func()) {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		log.Fatal(err)
	}
	client, err := cluster.Config{}.New(context.Background(), servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	l, err = limit.Config{Budget: time.Second}.New(client)
	if err != nil {
		log.Fatal(err)
	}
	return l, func() {
		l.Close()
		client.Close()
		servers.Close()
	}
}

// A batch of mails is sent as far as the limit allows.
func ExampleLimiter_AllowAtMost() {
	limiter, end := newLimiter()
	defer end()
	mails, err := limit.Rule{Name: "mails", Quota: 100, Window: 24 * time.Hour, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		n, d := limiter.AllowAtMost(context.Background(), limit.Request{Limit: mails, Key: "acme", Cost: 60})
		fmt.Println(n, d.Allowed)
	}
	// Output:
	// 60 true
	// 40 true
	// 0 false
}

// A user who was locked out may try again.
func ExampleLimiter_Reset() {
	limiter, end := newLimiter()
	defer end()
	logins, err := limit.Rule{Name: "logins", Quota: 1, Window: 24 * time.Hour, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	ctx, login := context.Background(), limit.Request{Limit: logins, Key: "42"}
	fmt.Println(limiter.Allow(ctx, login).Allowed, limiter.Allow(ctx, login).Allowed)
	if err := limiter.Reset(ctx, logins, "42"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(limiter.Allow(ctx, login).Allowed)
	// Output:
	// true false
	// true
}
