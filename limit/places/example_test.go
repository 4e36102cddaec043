package places_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest"
)

// newExports makes a semaphore on servers in this process, in place of a Redis Cluster.
func newExports() (s *places.Semaphore, end func()) {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		log.Fatal(err)
	}
	client, err := cluster.Config{}.New(context.Background(), servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	s, err = places.Config{Name: "exports", Max: 2, FailClosed: true, Budget: time.Second}.New(client)
	if err != nil {
		log.Fatal(err)
	}
	return s, func() {
		s.Close()
		client.Close()
		servers.Close()
	}
}

// A tenant may have two exports at a time.
func Example() {
	exports, end := newExports()
	defer end()
	ctx := context.Background()
	first, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed, d.Free)
	second, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed, d.Free)
	_, d = exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed)
	first.Release()
	third, d := exports.Acquire(ctx, "acme")
	fmt.Println(d.Allowed)
	second.Release()
	third.Release()
	// Output:
	// true 1
	// true 0
	// false
	// true
}

// Work that must not go on without its place ends when the place is lost.
func ExampleHold_Lost() {
	exports, end := newExports()
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hold, d := exports.Acquire(ctx, "acme")
	if !d.Allowed {
		return
	}
	defer hold.Release()
	go func() {
		select {
		case <-hold.Lost():
			cancel()
		case <-ctx.Done():
		}
	}()
	fmt.Println("works until the end of ctx:", ctx.Err())
	// Output: works until the end of ctx: <nil>
}
