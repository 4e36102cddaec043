package lanes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// A lane is a radix.Conn that many goroutines may use at once.
func ExampleDialer_Dial() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	lane, err := lanes.Dialer{ClientName: "example"}.Dial(ctx, server.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lane.Close()

	var hits int
	err = lane.Do(ctx, radix.Cmd(&hits, "INCRBY", "hits", "5"))
	fmt.Println(hits, err)
	// Output: 5 <nil>
}

// An error says whether it is safe to send the command again.
func ExampleOutcomeError() {
	err := lanes.NotSent("redis-1:6379", context.DeadlineExceeded)
	switch {
	case errors.Is(err, redislanes.ErrNotSent):
		fmt.Println("not executed, send again:", err)
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		fmt.Println("perhaps executed:", err)
	}
	// Output: not executed, send again: lanes: redis-1:6379: not sent: context deadline exceeded
}

// A password never shows in logs.
func ExampleDialer_String() {
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
	fmt.Println(byTenant(lanes.NewSet(make([]*lanes.Lane, 4), nil), 7))
	// Output: 3
}
