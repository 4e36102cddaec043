package pool_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/redistest"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A pool to one server is a radix.Client by itself.
func Example() {
	server, err := redistest.LaunchEmulated(1) // in place of a Redis server
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	p, err := pool.New(pool.Fixed{Size: 2}, lanes.Dialer{}, server.Addrs()[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	var n int
	if err := p.Do(context.Background(), radix.Cmd(&n, "INCR", "hits")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, p.Stats().Kind)
	// Output: 1 fixed
}

// Custom puts laned pools under radix's own Cluster.
func ExampleCustom() {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	client, err := radix.ClusterConfig{
		PoolConfig: radix.PoolConfig{CustomPool: pool.Custom(pool.Laned{Lanes: 2}, lanes.Dialer{})},
	}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var n int
	if err := client.Do(ctx, radix.Cmd(&n, "INCRBY", "hits", "2")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output: 2
}

// An adaptive pool has the connections that its callers need at a time. Here
// five users have one each, until they return it.
func ExampleAdaptive() {
	server, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	p, err := pool.New(pool.Adaptive{Min: 2, Max: 10, IdleTimeout: time.Minute}, lanes.Dialer{}, server.Addrs()[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	for range 5 {
		conn, err := p.Lend(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Return()
	}
	s := p.Stats()
	fmt.Println(s.Lent, "lent; grown from Min:", s.Grows > 0, "to enough:", s.Target >= 5)
	// Output: 5 lent; grown from Min: true to enough: true
}

// A laned pool with a range adds lanes when many batches are in flight. With
// MaxInFlight at its default that takes more than 256 on each lane.
func ExampleLaned() {
	server, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	p, err := pool.New(pool.Laned{Lanes: 2, MaxLanes: 8}, lanes.Dialer{}, server.Addrs()[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	var n int
	if err := p.Do(context.Background(), radix.Cmd(&n, "INCRBY", "hits", "3")); err != nil {
		log.Fatal(err)
	}
	s := p.Stats()
	fmt.Println(n, s.Kind, s.Target, "of", s.Size)
	// Output: 3 laned 2 of 8
}
