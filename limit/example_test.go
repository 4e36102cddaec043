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

// A user may have two hits a minute, and a tenant a hundred a day. Hits that the user's limit
// denies do not count for the tenant.
func Example() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	client, err := cluster.Config{}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	limiter, err := limit.Config{Budget: time.Second}.New(client)
	if err != nil {
		log.Fatal(err)
	}
	defer limiter.Close()

	perUser, err := limit.Rule{Name: "user", Quota: 2, Window: time.Minute, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	perTenant, err := limit.Rule{Name: "tenant", Quota: 100, Window: 24 * time.Hour}.New(limiter)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		r := limiter.Allow(ctx, limit.Request{Limit: perUser, Key: "42"}, limit.Request{Limit: perTenant, Key: "acme"})
		fmt.Println(r.Allowed, r.Remaining)
	}
	fmt.Println("remaining:", limiter.Allow(ctx, limit.Request{Limit: perTenant, Key: "acme", Look: true}).Remaining)
	// Output:
	// true 1
	// true 0
	// false 0
	// remaining: 98
}
