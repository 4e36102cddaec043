// A program that has dependencies of its own, which the library has, too.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/cpu"

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
	prometheus.MustRegister(prometheus.NewGoCollector())
	fmt.Println(pipeline.New(client).Do(ctx), cpu.CacheLinePad{})
}
