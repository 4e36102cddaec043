package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A rate limiter counts a request under several keys, in any slots, at once.
func Example() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	client, err := cluster.Config{}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	p := pipeline.New(client)
	user := p.IncrBy("user:42", 1)
	p.ExpireNX("user:42", time.Minute) // the window begins with its first hit
	path := p.IncrBy("path:/login", 1)
	p.ExpireNX("path:/login", time.Minute)
	if err := p.Do(ctx); err != nil {
		log.Fatal(err)
	}
	u, _ := user.Int()
	n, _ := path.Int()
	fmt.Println("user:", u, "path:", n)
	// Output: user: 1 path: 1
}

// A rate limiter that cannot count lets requests pass, but does not count twice
// what was perhaps counted.
func Example_failOpen() {
	servers, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := cluster.Config{RetryWindow: -1}.New(ctx, servers.Addrs()) // do not wait for a failover
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_ = servers.Close() // Redis is gone

	p := pipeline.New(client)
	user := p.Count("user:42", 1, time.Minute)
	_ = p.Do(ctx) // whether the hit was counted, its own reply tells
	switch total, err := user.Int(); {
	case err == nil:
		fmt.Println("counted:", total)
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		fmt.Println("pass: perhaps counted")
	default:
		fmt.Println("pass: not counted, Redis is down:", errors.Is(err, redislanes.ErrDown))
	}
	// Output: pass: not counted, Redis is down: true
}

// A command that fails leaves the others their replies.
func ExamplePipeline_Do() {
	client, done := example()
	defer done()
	p := pipeline.New(client)
	good := p.IncrBy("hits", 1)
	p.Cmd("SET", "name", "Ada")
	bad := p.IncrBy("name", 1)
	fmt.Println("failed:", p.Do(context.Background()) != nil)
	n, err := good.Int()
	fmt.Println(n, err)
	fmt.Println(bad.Err() != nil)
	// Output:
	// failed: true
	// 1 <nil>
	// true
}

// Count creates a key with its time to live before it counts: wherever the connection breaks,
// the key expires.
func ExamplePipeline_Count() {
	client, done := example()
	defer done()
	p := pipeline.New(client)
	for range 2 {
		p.Reset()
		total := p.Count("user:42", 1, time.Minute)
		if err := p.Do(context.Background()); err != nil {
			log.Fatal(err)
		}
		fmt.Println(total.Int())
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// The window of a key begins with its first hit and ends, however steadily it is
// hit. (Expire instead of ExpireNX would let it go on for ever.)
func ExamplePipeline_ExpireNX() {
	servers, err := redistest.LaunchEmulated(1)
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	client, err := cluster.Config{}.New(context.Background(), servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	p := pipeline.New(client)
	for range 6 {
		p.Reset()
		total := p.IncrBy("user:42", 1)
		p.ExpireNX("user:42", time.Minute)
		if err := p.Do(context.Background()); err != nil {
			log.Fatal(err)
		}
		n, _ := total.Int()
		fmt.Print(n, " ")
		servers.Nodes()[0].FastForward(20 * time.Second)
	}
	// Output: 1 2 3 1 2 3
}

// Counters is INCRBY and EXPIRE for many keys in one call.
func ExampleCounters() {
	client, done := example()
	defer done()
	counters := pipeline.CountersConfig{}.New(client)
	defer counters.Close()
	hits := []pipeline.Hit{
		{Key: "user:42", By: 1, TTL: time.Minute},
		{Key: "tenant:7", By: 3, TTL: time.Hour},
	}
	if err := counters.Hit(context.Background(), hits); err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Println(h.Key, h.Total)
	}
	// Output:
	// user:42 1
	// tenant:7 3
}

func example() (client *cluster.Client, done func()) {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		log.Fatal(err)
	}
	client, err = cluster.Config{}.New(context.Background(), servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	return client, func() {
		_ = client.Close()
		_ = servers.Close()
	}
}

// A large list is read on a lane for slow commands, and a few elements of another one on
// one that all share. The settings say that this service's scripts are short.
func ExampleReply_Fast() {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := cluster.Config{
		Pool: pool.Laned{Lanes: 4, SlowLanes: 2},
		Slow: append(cluster.SlowCommands(), "HMGET"),
	}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	p := pipeline.New(client)
	p.Cmd("RPUSH", "events", "login", "read", "logout")
	newest := p.Cmd("LRANGE", "events", "-1", "-1").Fast()
	all := p.Cmd("LRANGE", "all-events", "0", "-1") // slow by default
	if err := p.Do(ctx); err != nil {
		log.Fatal(err)
	}
	var last, history []string
	fmt.Println(newest.Into(&last), last)
	fmt.Println(all.Into(&history), history)
	// Output:
	// <nil> [logout]
	// <nil> []
}

// Scripts travel in pipelines like other commands, for keys in any slots.
func ExamplePipeline_Eval() {
	client, done := example()
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	upTo := pipeline.NewScript(`
		local n = redis.call("INCRBY", KEYS[1], ARGV[1])
		return math.min(n, tonumber(ARGV[2]))`)
	p := pipeline.New(client)
	a := p.Eval(upTo, []string{"user:42"}, "3", "5")
	b := p.Eval(upTo, []string{"path:/login"}, "8", "5")
	if err := p.Do(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Int())
	fmt.Println(b.Int())
	// Output:
	// 3 <nil>
	// 5 <nil>
}

func ExampleMGet() {
	client, done := example()
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	if err := pipeline.MSet(ctx, client, "user:42", "Ada", "user:43", "Grace"); err != nil {
		log.Fatal(err)
	}
	values, err := pipeline.MGet(ctx, client, "user:42", "user:99", "user:43")
	fmt.Printf("%q %v\n", values, err)
	// Output:
	// ["Ada" "" "Grace"] <nil>
}
