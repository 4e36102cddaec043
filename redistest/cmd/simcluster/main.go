// Simcluster serves the simulated cluster of package redistest/sim over TCP, in real time, for programs in any
// language. Its faults are made over HTTP. docs/simcluster.md describes both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/redistest/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "simcluster:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	var config sim.Config
	flags := flag.NewFlagSet("simcluster", flag.ContinueOnError)
	flags.IntVar(&config.Primaries, "primaries", 3, "how many `primaries`")
	flags.IntVar(&config.Replicas, "replicas", 1, "how many `replicas` of each primary")
	flags.Uint64Var(&config.Seed, "seed", 1, "`seed` of node IDs")
	flags.StringVar(&config.Server, "server", "", "replies of this `server`: redis-8.10 or valkey-9; empty: Redis 7.0")
	host := flags.String("host", "127.0.0.1", "IPv4 `address` of all nodes")
	port := flags.Uint("port", 7000, "`port` of the first node; the others have those behind it. 0: free ports")
	httpAddr := flags.String("http", "127.0.0.1:7080", "`address` of the HTTP interface")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: there are only flags", flags.Arg(0))
	}
	if config.Replicas == 0 {
		config.Replicas = -1 // none
	}
	config.Listen = fmt.Sprintf("%s:%d", *host, *port)
	cluster, err := sim.Launch(config)
	if err != nil {
		return err
	}
	defer cluster.Close()
	cluster.Host(*host) // so that random faults are between programs of this machine and nodes, too
	l, err := net.Listen("tcp", *httpAddr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(cluster), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_, _ = fmt.Fprintf(out, "nodes: %s\nfaults: http://%s\n", strings.Join(cluster.Addrs(), " "), l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
