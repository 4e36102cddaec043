package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest/sim"
)

// A failover and a lost reply in real time. In a test, Start and testing/synctest are shorter and faster.
func Example() {
	redis, err := sim.Launch(sim.Config{GossipLag: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	ctx := context.Background()
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(ctx, redis.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	fmt.Println(client.Cmd(ctx, "INCRBY", "user:42", 1).Int())
	old := redis.Owner("user:42")
	old.Kill()
	old.Failover()
	fmt.Println(client.Cmd(ctx, "GET", "user:42").Int()) // a read is tried again, and finds the new primary

	redis.Owner("user:42").CutReplies(1)
	err = client.Cmd(ctx, "INCRBY", "user:42", 1).Err()
	fmt.Println(errors.Is(err, redislanes.ErrUnknownOutcome)) // the hit was counted, and its reply is lost
	fmt.Println(redis.Value("user:42"))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// true
	// 2 true
}
