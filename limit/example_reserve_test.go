package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
)

// launch returns a limiter on an emulated cluster, and a limit of 1,000 tokens in an hour.
func launch() (limiter *limit.Limiter, tokens *limit.Limit, stop func()) {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	client, err := cluster.Config{}.New(context.Background(), servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	limiter, err = limit.Config{Budget: time.Second}.New(client)
	if err != nil {
		log.Fatal(err)
	}
	tokens, err = limit.Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	return limiter, tokens, func() {
		_ = limiter.Close()
		_ = client.Close()
		_ = servers.Close()
	}
}

// A request to a language model may cost 600 tokens, and has cost 250.
func ExampleLimiter_Reserve() {
	limiter, tokens, stop := launch()
	defer stop()
	ctx := context.Background()

	reservation, result := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 600})
	fmt.Println(result.Allowed, result.Remaining)
	if err := reservation.Settle(ctx, 250); err != nil {
		log.Print(err) // the estimate counts, unless the error says that settling goes on
	}
	fmt.Println(limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann", Look: true}).Remaining)
	// Output:
	// true 400
	// 750
}

// An answer that costs more than its estimate is counted beyond the limit. The next requests
// wait until it is paid for.
func ExampleReservation_Settle() {
	limiter, tokens, stop := launch()
	defer stop()
	ctx := context.Background()

	reservation, _ := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 600})
	if err := reservation.Settle(ctx, 1500); err != nil {
		log.Print(err)
	}
	next := limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann"})
	fmt.Println(next.Allowed, next.RetryAfter.Round(time.Minute))
	// Output: false 30m0s
}

// Work that fails costs nothing. After Settle, Cancel changes nothing.
func ExampleReservation_Cancel() {
	limiter, tokens, stop := launch()
	defer stop()
	ctx := context.Background()

	ask := func(used int64) {
		reservation, _ := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 600})
		defer func() { fmt.Println(errors.Is(reservation.Cancel(ctx), limit.ErrSettled)) }()
		if used > 0 {
			_ = reservation.Settle(ctx, used)
		}
	}
	ask(0)
	ask(250)
	fmt.Println(limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann", Look: true}).Remaining)
	// Output:
	// false
	// true
	// 750
}

// A charge of 1,500 on a limit of 1,000 is counted.
func ExampleRequest_charge() {
	limiter, tokens, stop := launch()
	defer stop()
	ctx := context.Background()

	charged := limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 1500, Charge: true})
	fmt.Println(charged.Allowed, charged.RetryAfter.Round(time.Minute))
	fmt.Println(limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann"}).Allowed)
	// Output:
	// false 30m0s
	// false
}

// A user gets 100 tokens back.
func ExampleLimiter_GiveBack() {
	limiter, tokens, stop := launch()
	defer stop()
	ctx := context.Background()

	fmt.Println(limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 600}).Remaining)
	if err := limiter.GiveBack(ctx, limit.Request{Limit: tokens, Key: "ann", Cost: 100}); err != nil {
		log.Print(err)
	}
	fmt.Println(limiter.Allow(ctx, limit.Request{Limit: tokens, Key: "ann", Look: true}).Remaining)
	// Output:
	// 400
	// 500
}
