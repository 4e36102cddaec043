// A program that tests what it does while Redis is in trouble.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

func main() {
	client, err := cluster.Config{}.New(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(allow(client, "user:42", 100))
}

// allow reports whether this hit is within the limit, or cannot be counted.
func allow(client *cluster.Client, key string, limit int64) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	p := pipeline.New(client)
	hits := p.IncrBy(key, 1)
	p.ExpireNX(key, time.Minute)
	_ = p.Do(ctx)
	total, err := hits.Int()
	return err != nil || total <= limit
}
