package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

const launchTimeout = time.Minute

// A target is the cluster that is measured.
type target struct {
	addrs  []string
	dialer lanes.Dialer
}

// closeTarget stops the cluster if this run has started one.
var closeTarget = func() error { return nil }

// tests is the run of all tests, and of what has to be stopped after them.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	code := t.m.Run()
	if err := closeTarget(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stopping the cluster:", err)
		code = max(code, 1)
	}
	return code
}

func TestMain(m *testing.M) { leak.Main(tests{m}) }

// sharedTarget returns the cluster of this run, and starts it if need be.
func sharedTarget(tb testing.TB) target {
	tb.Helper()
	t, err := findTarget()
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

var findTarget = sync.OnceValues(func() (target, error) {
	ctx, cancel := context.WithTimeout(context.Background(), launchTimeout)
	defer cancel()
	t, what, err := chooseTarget(ctx)
	if err == nil {
		fmt.Println("bench: cluster:", what) // a line of benchstat's format
	}
	return t, err
})

// chooseTarget also says in words which cluster it is, but not where: figures of
// runs that differ only in ports may be compared.
func chooseTarget(ctx context.Context) (t target, what string, err error) {
	switch addrs := os.Getenv("REDIS_ADDRS"); {
	case addrs != "":
		t.addrs = strings.Split(addrs, ",")
		t.dialer = lanes.Dialer{Username: os.Getenv("REDIS_USERNAME"), Password: os.Getenv("REDIS_PASSWORD")}
		what, err = describe(ctx, t)
		return t, what + ", from REDIS_ADDRS", err
	case servers.HaveServer():
		started, err := servers.LaunchCluster(ctx, servers.Options{Primaries: 3})
		if err != nil {
			return t, "", err
		}
		closeTarget = started.Close
		t.addrs = started.Addrs()
		what, err = describe(ctx, t)
		return t, what + ", started by this run", err
	case os.Getenv(servers.RequireEnv) == "1":
		return t, "", errors.New(servers.RequireEnv + " is 1, but there is no redis-server")
	default:
		emulated, err := redistest.LaunchEmulated(3)
		if err != nil {
			return t, "", err
		}
		closeTarget = emulated.Close
		t.addrs = emulated.Addrs()
		return t, "emulated (no redis-server): figures say nothing about Redis", nil
	}
}

// describe asks a real cluster what it is.
func describe(ctx context.Context, t target) (string, error) {
	client, err := cluster.Config{Dialer: t.dialer}.New(ctx, t.addrs)
	if err != nil {
		return "", err
	}
	defer client.Close()
	nodes, err := client.Clients()
	if err != nil {
		return "", err
	}
	var info string
	if err := client.Do(ctx, radix.Cmd(&info, "INFO", "server")); err != nil {
		return "", err
	}
	version := "of unknown version"
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			version = v
		}
	}
	return fmt.Sprintf("real, redis-server %s, %d primaries", version, len(nodes)), nil
}
