// Command fromenv is a rate limiter's request with all settings from the
// environment, under the names that Envoy's rate limit service uses, so that a
// deployment of it can be tried here as it is.
//
//	go run .                                                   # on a cluster emulated in the process
//	REDIS_TYPE=cluster REDIS_URL=10.0.0.1:6379,10.0.0.2:6379 REDIS_AUTH=user:password go run .
//
// variables.go has the names, and is the part to copy from; README.md lists
// them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/redistest"
)

const embeddedNodes = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, env.ToMap(os.Environ()), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "fromenv: %v\n", err)
		os.Exit(1)
	}
}

// run is the program. All that it has opened is closed when it returns.
func run(ctx context.Context, environment map[string]string, out io.Writer) error {
	v, err := read(environment)
	if err != nil {
		return err
	}
	config, err := v.config()
	if err != nil {
		return err
	}
	for _, note := range v.notices() {
		say(out, "Note: %s.\n", note)
	}
	addrs, _ := v.hosts() // read has checked them
	if len(addrs) == 0 {
		embedded, err := redistest.LaunchEmulated(embeddedNodes)
		if err != nil {
			return err
		}
		defer embedded.Close()
		addrs = embedded.Addrs()
		say(out, "REDIS_URL is not set: %d nodes emulated in this process\n", embeddedNodes)
	}
	connecting, cancel := context.WithTimeout(ctx, v.Timeout)
	client, err := config.New(connecting, addrs)
	cancel()
	if err != nil {
		return err
	}
	defer client.Close()

	err = limit(ctx, client, time.Now(), v.Timeout, out)
	describe(client.Stats(), out)
	if v.HealthCheckConnection {
		err = errors.Join(err, healthy(client.Stats()))
	}
	return err
}

// say prints. Where the output goes wrong there is nobody to tell.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// describe says which pools the request has used.
func describe(s redislanes.Stats, out io.Writer) {
	for _, n := range s.Nodes {
		say(out, "%s  %s pool, %d of %d connections\n", n.Pool.Addr, n.Pool.Kind, n.Pool.Open, n.Pool.Size)
	}
}

// healthy is what a health check would say: every node that is in use has a
// connection.
func healthy(s redislanes.Stats) error {
	for _, n := range s.Nodes {
		if n.Pool.Down || n.Pool.Open == 0 {
			return fmt.Errorf("unhealthy: no connection to %s", n.Pool.Addr)
		}
	}
	return nil
}
