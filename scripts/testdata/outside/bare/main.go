// A program that has no dependencies yet.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	client, err := cluster.Config{}.New(ctx, []string{"127.0.0.1:6379"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(pipeline.New(client).Do(ctx))
}
