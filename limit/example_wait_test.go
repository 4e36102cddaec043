package limit_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// A partner allows two calls at once and one a second after that. The fourth call would be too late.
func ExampleLimiter_Wait() {
	limiter, end := newLimiter()
	defer end()
	partner, err := limit.Rule{Name: "partner", Quota: 1, Burst: 2, Window: time.Second, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	order := func() error {
		if err := limiter.Wait(ctx, limit.Request{Limit: partner, Key: "orders"}); err != nil {
			return err
		}
		return nil // call the partner
	}
	for range 4 {
		if err := order(); err != nil {
			fmt.Println("too late")
			break
		}
		fmt.Println("called")
	}
	// Output:
	// called
	// called
	// called
	// too late
}
