// Command cluster starts a real Redis Cluster of redis-server processes, runs a
// command with the cluster's addresses in ADDRS (comma separated), stops the
// cluster and exits with the command's exit code:
//
//	go run ./internal/servers/cmd/cluster -primaries 3 -replicas 1 -- COMMAND [ARGUMENT...]
//
// Without a command it prints the addresses and runs until it is interrupted.
// It is for this repository's own checks and experiments: the servers have no
// password, listen on the loopback address and keep nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
)

// What a command has to stop in after it was told to, before it is killed.
const stopTimeout = 20 * time.Second

func main() {
	var opts servers.Options
	flag.IntVar(&opts.Primaries, "primaries", 3, "number of primaries")
	flag.IntVar(&opts.Replicas, "replicas", 1, "number of replicas of each primary")
	flag.Parse()

	// SIGINT and SIGTERM end the start-up, the command and then the cluster.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code, err := run(ctx, opts, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	os.Exit(code)
}

// run returns the exit code and, where the command itself has not said why it
// failed, the error.
func run(ctx context.Context, opts servers.Options, command []string) (int, error) {
	c, err := servers.LaunchCluster(ctx, opts)
	if err != nil {
		return 1, err
	}
	defer c.Close()

	addrs := strings.Join(c.Addrs(), ",")
	if len(command) == 0 {
		fmt.Println("ADDRS=" + addrs)
		<-ctx.Done()
		return 0, nil
	}

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "ADDRS="+addrs)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout

	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, errors.New("interrupted")
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	case err != nil:
		return 1, err
	}
	return 0, nil
}
