package pool_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// The settings go to cluster.Config, which makes a pool for each node.
func Example() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	client, err := cluster.Config{Pool: pool.Fixed{Size: 2}}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var n int
	if err := client.Do(ctx, radix.Cmd(&n, "INCR", "hits")); err != nil {
		log.Fatal(err)
	}
	for _, node := range client.Stats().Nodes { // of those that were used
		fmt.Println(n, node.Pool.Kind, node.Pool.Size)
	}
	// Output: 1 fixed 2
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
// five users have one each at the same time.
func ExampleAdaptive() {
	server, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := cluster.Config{Pool: pool.Adaptive{Min: 2, Max: 10, IdleTimeout: time.Minute}}.New(ctx, server.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var users, all sync.WaitGroup
	all.Add(5)
	for range 5 {
		users.Go(func() {
			_ = client.Do(ctx, radix.WithConn("", func(context.Context, radix.Conn) error {
				all.Done()
				all.Wait()
				return nil
			}))
		})
	}
	users.Wait()
	s := client.Stats().Nodes[0].Pool
	fmt.Println("enough:", s.Open >= 5)
	// Output: enough: true
}

// A laned pool with a range adds lanes when many batches are in flight. With
// MaxInFlight at its default that takes more than 256 on each lane.
func ExampleLaned() {
	server, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := cluster.Config{Pool: pool.Laned{Lanes: 2}}.New(ctx, server.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var n int
	if err := client.Do(ctx, radix.Cmd(&n, "INCRBY", "hits", "3")); err != nil {
		log.Fatal(err)
	}
	s := client.Stats().Nodes[0].Pool
	fmt.Println(n, s.Kind, s.Size)
	// Output: 3 laned 2
}
