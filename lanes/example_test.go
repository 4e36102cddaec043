package lanes_test

import (
	"fmt"

	"github.com/redislanes/redislanes/lanes"
)

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
	busy, idle := new(lanes.Gauge), new(lanes.Gauge)
	busy.InFlight.Store(2)
	set := lanes.NewSet([]*lanes.Gauge{busy, idle}, nil)
	fmt.Println(byTenant(set, 7), byTenant(set, -1))
	// Output: 1 1
}
