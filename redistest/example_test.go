package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A server that takes commands and does not answer. In a test, StartEmulated and
// StartProxies are shorter.
func ExampleProxy() {
	redis, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	proxy, err := redistest.LaunchProxy(redis.Addrs()[0])
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()
	ctx := context.Background()
	client, err := cluster.Config{AddrMap: func(string) string { return proxy.Addr() }}.New(ctx, redis.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	p := pipeline.New(client)
	count := func() (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		p.Reset()
		hits := p.IncrBy("user:42", 1)
		_ = p.Do(ctx)
		return hits.Int()
	}
	fmt.Println(count())
	proxy.Stall(redistest.ToClient)
	_, err = count()
	fmt.Println(errors.Is(err, redislanes.ErrUnknownOutcome))
	// Output:
	// 1 <nil>
	// true
}
