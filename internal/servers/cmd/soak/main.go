// Command soak keeps callers on a real Redis Cluster under load while it
// injects faults, and compares what the callers were told with what Redis
// holds:
//
//	go run ./internal/servers/cmd/soak -for 10m -seed 1
//
// It starts the cluster itself, opens one cluster.Client and lets -callers
// goroutines send pipelines of INCRBY and EXPIRE, each with a deadline. Every
// command must end in exactly one class: acknowledged, outcome unknown, or not
// executed. Faults come one after another, by -seed: slots that move, failovers,
// stopped, killed and sleeping nodes, closed connections, links that carry little,
// shards that are lost, and addresses of killed nodes at which a server without
// cluster mode answers, or one that hangs up after the greeting.
//
// The time is divided into episodes with keys of their own. At the end of each,
// every key must hold
//
//	acknowledged <= value <= acknowledged + unknown
//
// where the lower bound is dropped once something has happened that lets
// Redis, whose replication is asynchronous, lose acknowledged writes: a
// failover other than a graceful one, a kill, or a stall that may cause a
// failover. In a lossless episode no such fault is injected. Half of a
// call's keys are counted by its caller alone, so that the invariant is checked
// with every reply, too.
//
// Calls that return after their deadlines are counted but do not fail the run,
// since a busy machine makes anything late: the line "bare waits" says by how
// much goroutines were late that did nothing but wait for a context.
//
// The same seed and settings give the same faults in the same order in each
// episode; how many of them an episode has time for depends on the machine.
//
// The exit status is 1 if the invariant was violated, a command was in no
// class, a server in another's place was given keys or dialled without end, calls
// clung to a lost shard, the client left goroutines or memory behind, or the run itself
// failed; a cluster that does not become healthy again is such a failure.
// Ctrl-C ends the run early, with a report; a second one ends it at once.
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
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// command returns the exit status.
func command(args []string, stdout, stderr io.Writer) int {
	s, err := parseSettings(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that the second Ctrl-C ends it at once
	r, err := run(ctx, s, stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "soak:", err)
		return 1
	}
	r.print(stdout)
	if s.report != "" {
		if err := r.save(s.report); err != nil {
			_, _ = fmt.Fprintln(stderr, "soak:", err)
			return 1
		}
	}
	if len(r.Failures) > 0 {
		return 1
	}
	return 0
}
