package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A program written for radix changes the constructor and nothing else.
func Example() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var client radix.MultiClient
	client, err = cluster.Config{Pool: pool.Laned{Lanes: 4}}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var total int
	if err := client.Do(ctx, radix.Cmd(&total, "INCRBY", "hits", "5")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(total)
	// Output: 5
}

// Keys with the same hash tag are in the same slot.
func ExampleSlot() {
	fmt.Println(cluster.Slot("{user1000}.following") == cluster.Slot("{user1000}.followers"))
	fmt.Println(cluster.Slot("123456789"))
	// Output:
	// true
	// 12739
}

func ExampleOpen() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	client, err := cluster.Open(ctx, "redis://"+strings.Join(servers.Addrs(), ",")+"?timeout=2s")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Cmd(ctx, "INCRBY", "hits", 2).Int())
	// Output: 2 <nil>
}

func ExampleParseURL() {
	config, addrs, err := cluster.ParseURL("redis://limiter:s%40cret@10.0.0.1:6379,10.0.0.2/2?timeout=500ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(addrs, config.Dialer.Username, config.Dialer.Database, config.Dialer.Timeout)

	_, _, err = cluster.ParseURL("redis://limiter:s/cret@10.0.0.1")
	fmt.Println(err)
	// Output:
	// [10.0.0.1:6379 10.0.0.2:6379] limiter 2 500ms
	// cluster: ParseURL: want scheme://user:password@host:port/database?name=value, with /, ?, #, @ and % percent-encoded in user, password and values
}

func ExampleClient_Cmd() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()
	client, err := cluster.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	fmt.Println(client.Cmd(ctx, "INCRBY", "hits", 2))
	hits, err := cluster.As[int](client.Cmd(ctx, "GET", "hits"))
	fmt.Println(hits, err)
	_, err = cluster.As[string](client.Cmd(ctx, "GET", "nobody"))
	fmt.Println(errors.Is(err, redislanes.ErrNull))
	// Output:
	// 2
	// 2 <nil>
	// true
}
