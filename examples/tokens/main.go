// Command tokens limits how many tokens of a language model each user may have: 10,000 at once, and
// 10,000 more flow in during a day. A request reserves what it may cost at most, and settles for
// what it has cost.
//
//	go run ./examples/tokens                                  # on a cluster emulated in the process
//	go run ./examples/tokens -addrs 10.0.0.1:6379,10.0.0.2:6379
//
// gateway.go is the part to copy from.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
)

// perDay is how many tokens flow in during a day, and how many a user may have at once.
var perDay = limit.Rule{Name: "tokens", Quota: 10_000, Window: 24 * time.Hour, Algorithm: limit.TokenBucket}

// requests are what users ask for, and how it ends.
var requests = []struct {
	user       string
	most, used int64
	err        error
}{
	{"ann", 4000, 500, nil},
	{"ann", 4000, 3900, nil},
	{"bob", 9000, 9800, nil}, // more than its estimate, such as for tools
	{"ann", 4000, 0, errors.New("the model is overloaded")},
	{"bob", 1000, 200, nil},
	{"ann", 4000, 4100, nil},
	{"ann", 4000, 1000, nil},
	{"bob", 20_000, 1000, nil},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

// run is the program. All that it has opened is closed when it returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tokens", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.String("addrs", "", "nodes of a cluster, host:port,...; without them, a cluster is emulated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	addrs := strings.Split(*list, ",")
	if *list == "" {
		emulated, err := redistest.LaunchEmulated(3)
		if err != nil {
			return err
		}
		defer emulated.Close()
		addrs = emulated.Addrs()
	}
	client, err := cluster.Config{}.New(ctx, addrs)
	if err != nil {
		return err
	}
	defer client.Close()
	limiter, err := limit.Config{
		Prefix: fmt.Sprintf("tokens:%d:", time.Now().UnixNano()),
		Budget: 10 * time.Second, // far less than the model takes; after a timeout the reserved tokens may stay counted
	}.New(client)
	if err != nil {
		return err
	}
	defer limiter.Close()
	perUser, err := perDay.New(limiter)
	if err != nil {
		return err
	}
	return askAll(ctx, &gateway{limiter: limiter, perUser: perUser}, stdout)
}

// askAll makes the requests, one after the other.
func askAll(ctx context.Context, g *gateway, out io.Writer) error {
	for _, r := range requests {
		g.model = func(context.Context, string, int64) (string, int64, error) { return "an answer", r.used, r.err }
		became := fmt.Sprintf("%d tokens used", r.used)
		if _, err := g.ask(ctx, r.user, "a question", r.most); err != nil {
			became = err.Error()
		}
		if _, err := fmt.Fprintf(out, "%s asks for up to %5d tokens: %s, %d remain\n", r.user, r.most, became, g.remaining(ctx, r.user)); err != nil {
			return err
		}
	}
	return nil
}
