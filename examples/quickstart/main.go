// Command quickstart counts a rate limiter's request, ten keys anywhere in a Redis Cluster, in one
// call, and shows where each key lives and what it came to.
//
//	go run ./examples/quickstart                                          # on a cluster emulated in the process
//	go run ./examples/quickstart -url redis://10.0.0.1:6379,10.0.0.2:6379
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func main() {
	url := flag.String("url", "", "what cluster.ParseURL takes; without it, a cluster emulated in this process")
	flag.Parse()
	if err := run(context.Background(), *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program. All that it has opened is closed when it returns.
func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		emulated, err := redistest.LaunchEmulated(3)
		if err != nil {
			return err
		}
		defer emulated.Close()
		url = strings.Join(emulated.Addrs(), ",")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := cluster.Open(ctx, url)
	if err != nil {
		return err
	}
	defer client.Close()

	p := pipeline.New(client) // for one goroutine; Reset it for the next request
	for range 3 {
		if err := count(ctx, p, out); err != nil {
			return err
		}
	}
	for _, n := range client.Stats().Nodes {
		_, _ = fmt.Fprintf(out, "%s  %s pool, %d of %d connections\n", n.Pool.Addr, n.Pool.Kind, n.Pool.Open, n.Pool.Size)
	}
	return nil
}

// count counts a hit on ten keys, each of which expires a minute after its first hit. The groups for
// the nodes travel in parallel.
func count(ctx context.Context, p *pipeline.Pipeline, out io.Writer) error {
	p.Reset()
	var keys [10]string
	var totals [10]pipeline.Reply
	for i := range keys {
		keys[i] = fmt.Sprintf("quickstart:user:%d", i)
		totals[i] = p.Count(keys[i], 1, time.Minute)
	}
	began := time.Now()
	if err := p.Do(ctx); err != nil {
		return err // each reply has its own error, too
	}
	_, _ = fmt.Fprintf(out, "%d groups, answered in %v\n", p.Trips(), time.Since(began).Round(time.Microsecond))
	for i, key := range keys {
		total, err := totals[i].Int()
		_, _ = fmt.Fprintf(out, "  %s  slot %5d  at %s: %d %v\n", key, cluster.Slot(key), totals[i].Node(), total, err)
	}
	return nil
}
