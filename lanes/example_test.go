package lanes_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// A password never shows in logs.
func ExampleDialer_Format() {
	fmt.Println(lanes.Dialer{Username: "app", Password: "secret", Protocol: 3})
	// Output: lanes.Dialer{Username: "app", Password: set, TLS: false, Protocol: 3}
}

// A strategy is a function. This one takes the lane that the number of the
// batch says, and the least used one if the batch has none.
func ExampleStrategy() {
	byTenant := lanes.Strategy(func(set *lanes.Set, key int64) int {
		if key < 0 {
			return lanes.LeastUsed(set, key)
		}
		return int(key % int64(set.Len()))
	})
	busy, idle := new(lanes.Gauge), new(lanes.Gauge)
	busy.InFlight.Store(2)
	set := lanes.NewSet([]*lanes.Gauge{busy, idle}, nil)
	fmt.Println(byTenant(set, 7), byTenant(set, -1))
	// Output: 1 1
}

// A tokenCache keeps a token while it is valid for some minutes more: each dial asks for it.
type tokenCache struct {
	user string
	// fetch signs a token, as for ElastiCache and MemoryDB, or fetches one, as for
	// Entra ID.
	fetch func(ctx context.Context) (token string, until time.Time, err error)

	mu    sync.Mutex // guards what follows
	token string
	until time.Time
}

func (c *tokenCache) Credentials(ctx context.Context) (username, password string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Until(c.until) < 5*time.Minute {
		token, until, err := c.fetch(ctx)
		if err != nil {
			return "", "", err
		}
		c.token, c.until = token, until
	}
	return c.user, c.token, nil
}

// ElastiCache and MemoryDB with IAM take a token for 15 minutes, and cut a connection 12
// hours after its AUTH. With it goes pool.Options.MaxAge of 6 hours: connections are replaced before.
func ExampleDialer_credentials() {
	tokens := &tokenCache{user: "app", fetch: func(context.Context) (string, time.Time, error) {
		return "a presigned request", time.Now().Add(15 * time.Minute), nil // by the SDK of the service
	}}
	dialer := lanes.Dialer{Credentials: tokens.Credentials}
	username, password, err := dialer.Credentials(context.Background())
	fmt.Println(username, password, err)
	// Output: app a presigned request <nil>
}
