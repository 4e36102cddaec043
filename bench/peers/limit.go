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

// limitOf returns how many INCR a second redis-benchmark makes of the cluster,
// 32 in a pipeline: what its servers can do beside a client in C on the same
// cores.
func limitOf(ctx context.Context, addr string) (float64, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, "redis-benchmark", "-h", host, "-p", port, "--cluster", "--threads", "2",
		"-t", "incr", "-P", "32", "-c", "50", "-n", "3000000", "-r", strconv.Itoa(variableKeys), "-q").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w\n%s", err, out)
	}
	all := requestsPerSecond.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("redis-benchmark: no rate in %q", out)
	}
	return strconv.ParseFloat(string(all[len(all)-1][1]), 64)
}
