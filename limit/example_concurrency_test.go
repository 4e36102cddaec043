package limit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
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

// A tenant may have two exports at a time.
func ExampleLimiter_Concurrency() {
	limiter, end := newLimiter()
	defer end()
	exports, err := limiter.Concurrency(limit.ConcurrencyRule{Name: "exports", Limit: 2})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	first, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed, d.Remaining)
	second, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed, d.Remaining)
	_, d = exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed)
	first.Release()
	third, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed)
	second.Release()
	third.Release()
	// Output:
	// true 1
	// true 0
	// false
	// true
}

// Work that must not go on without its place ends when the place is lost.
func ExampleHold_Lost() {
	limiter, end := newLimiter()
	defer end()
	exports, err := limiter.Concurrency(limit.ConcurrencyRule{Name: "exports", Limit: 2, FailClosed: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hold, d := exports.Acquire(ctx, "acme")
	if !d.Allowed {
		return
	}
	defer hold.Release()
	go func() {
		select {
		case <-hold.Lost():
			cancel()
		case <-ctx.Done():
		}
	}()
	fmt.Println("works until the end of ctx:", ctx.Err())
	// Output: works until the end of ctx: <nil>
}

// A user may have five requests at a time, and 100 in a minute. Requests that are one too many
// at a time are not counted.
func ExampleConcurrency_Handler() {
	serve := func(limiter *limit.Limiter, atATime *limit.Concurrency, perMinute *limit.Limit, app http.Handler) error {
		app = limiter.Handler(app, func(r *http.Request) []limit.Request {
			return []limit.Request{{Limit: perMinute, Key: r.Header.Get("User")}}
		})
		app = atATime.Handler(app, func(r *http.Request) (key string, limited bool) {
			return r.Header.Get("User"), true
		})
		return http.ListenAndServe(":8080", app)
	}
	_ = serve
}

// A batch of mails is sent as far as the limit allows.
func ExampleLimiter_AllowAtMost() {
	limiter, end := newLimiter()
	defer end()
	mails, err := limiter.Limit(limit.Rule{Name: "mails", Limit: 100, Window: 24 * time.Hour, Algorithm: limit.TokenBucket})
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
	logins, err := limiter.Limit(limit.Rule{Name: "logins", Limit: 1, Window: 24 * time.Hour, Algorithm: limit.TokenBucket})
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
