// Command quickstart sends a rate limiter's request, ten counters anywhere in a
// Redis Cluster, in one call, and shows what happened: where each key lives,
// how many groups of commands went out at once, and what the connection pools
// hold.
//
//	go run ./examples/quickstart                                  # on a cluster emulated in the process
//	go run ./examples/quickstart -addrs 10.0.0.1:6379,10.0.0.2:6379
//
// The -help flag lists the settings. request.go is the part to copy from.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

const (
	connectTimeout = 10 * time.Second
	requestTimeout = 5 * time.Second

	embeddedNodes = 3

	// linesShown is how many requests have a line of their own.
	linesShown = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case interrupted:
		err = errors.New("interrupted")
	}
	fmt.Fprintln(os.Stderr, "quickstart:", err)
	os.Exit(1)
}

// run is the program. All that it has opened is closed when it returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	out := &printer{w: stdout}

	addrs := s.addrs
	if len(addrs) == 0 {
		embedded, err := redistest.LaunchEmulated(embeddedNodes)
		if err != nil {
			return err
		}
		defer embedded.Close()
		addrs = embedded.Addrs()
		out.printf("Cluster  %d nodes emulated in this process; for a real one: -addrs host:port,...\n", embeddedNodes)
	}

	client, err := connect(ctx, s, addrs)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(s.addrs) > 0 {
		out.printf("Cluster  %d of %d slots served\n", client.Stats().Slots, cluster.SlotCount)
	}
	out.printf("Pool     %s\n", s.describePool())
	out.printf("Request  SET key 0 EX %.0f NX and INCRBY key 1 for %s: %s in one call, in a group for each node\n\n",
		keyTTL.Seconds(), count(s.keys, "key"), count(2*s.keys, "command"))

	if err := sendAll(ctx, s, client, out); err != nil {
		return err
	}
	out.stats(client.Stats())
	return out.err
}

// connect finds the cluster's nodes. The pools dial them when they are needed.
func connect(ctx context.Context, s settings, addrs []string) (*cluster.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return cluster.Config{Pool: s.pool, Dialer: s.dialer}.New(ctx, addrs)
}

// sendAll sends the requests one after the other, prints a line for each of the
// first ones and for the last, and then the replies of the last. A request that
// fails ends it.
func sendAll(ctx context.Context, s settings, client *cluster.Client, out *printer) error {
	keys := keyNames(s.keys)
	p := pipeline.New(client)
	for i := 1; ; i++ {
		began := time.Now()
		hits, err := send(ctx, p, keys)
		took := time.Since(began)
		if ctx.Err() != nil {
			return ctx.Err() // what it did to this request is of no interest
		}

		last := i == s.requests || err != nil
		if i <= linesShown || last {
			if i > linesShown+1 {
				out.printf("...\n")
			}
			out.request(i, p.Trips(), took)
		}
		if !last {
			continue
		}
		out.printf("\nWhat the keys of request %d got:\n\n", i)
		out.hits(hits)
		if err != nil {
			return errors.Join(fmt.Errorf("request %d: %w", i, err), out.err)
		}
		return nil
	}
}
