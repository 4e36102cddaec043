package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
)

var requestsPerSecond = regexp.MustCompile(`([0-9.]+) requests per second`)

// limitOf returns how many commands a second redis-benchmark makes of the cluster,
// 32 in a pipeline, if every other one is INCRBY and EXPIRE: what its servers can do
// beside a client in C on the same cores.
func limitOf(ctx context.Context, t target, ca string) (float64, error) {
	incrby, err := limitOfOne(ctx, t, ca, "INCRBY", "1")
	if err != nil {
		return 0, err
	}
	expire, err := limitOfOne(ctx, t, ca, "EXPIRE", "60")
	if err != nil {
		return 0, err
	}
	return 2 / (1/incrby + 1/expire), nil
}

func limitOfOne(ctx context.Context, t target, ca, command, argument string) (float64, error) {
	host, port, err := net.SplitHostPort(t.addrs[0])
	if err != nil {
		return 0, err
	}
	args := []string{"-h", host, "-p", port, "--cluster", "--threads", "2", "-P", "32", "-c", "50", "-n", "1500000", "-q"}
	if t.tls != nil {
		args = append(args, "--tls", "--cacert", ca)
	}
	// {tag} stands for one that is in a slot of the node.
	out, err := exec.CommandContext(ctx, "redis-benchmark", append(args, command, "limit:{tag}", argument)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w\n%s", err, out)
	}
	all := requestsPerSecond.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("redis-benchmark: no rate in %q", out)
	}
	return strconv.ParseFloat(string(all[len(all)-1][1]), 64)
}
