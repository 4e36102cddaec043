// Command fromenv counts one hit with a client whose address and pool come from the environment,
// so that a variable alone rolls a pool out and back.
//
//	go run ./examples/fromenv    # on a cluster emulated in the process
//	REDIS_URL=redis://:password@10.0.0.1:6379,10.0.0.2:6379 REDIS_POOL=fixed REDIS_POOL_SIZE=50 go run ./examples/fromenv
//
// Copy settings.go. README.md lists the variables.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fromenv:", err)
		os.Exit(1)
	}
}

// run is the program. All that it has opened is closed when it returns.
func run(ctx context.Context, env func(string) string, out io.Writer) error {
	config, addrs, timeout, err := settings(env)
	if err != nil {
		return err
	}
	if len(addrs) == 0 {
		emulated, err := redistest.LaunchEmulated(3)
		if err != nil {
			return err
		}
		defer emulated.Close()
		addrs = emulated.Addrs()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := config.New(ctx, addrs)
	if err != nil {
		return err
	}
	defer client.Close()

	p := pipeline.New(client)
	total := p.Count("fromenv:user:42", 1, time.Minute)
	if err := p.Do(ctx); err != nil {
		return err
	}
	n, err := total.Int()
	_, _ = fmt.Fprintf(out, "%d hits, %s\n", n, strings.TrimPrefix(fmt.Sprintf("%T", config.Pool), "pool."))
	return err
}
