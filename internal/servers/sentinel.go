package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// PrimaryName is the name by which the Sentinels know the primary.
const PrimaryName = "mymaster"

const (
	sentinelCount = 3
	downAfter     = 500 * time.Millisecond // down-after-milliseconds
)

// StartWithSentinels starts a primary without cluster mode, Options.Replicas
// replicas and three Sentinels for the test, as [StartCluster] does for a cluster.
// Nodes has the servers, the primary first, Sentinels the others.
func StartWithSentinels(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	return start(tb, o, LaunchWithSentinels)
}

// LaunchWithSentinels is [StartWithSentinels] for programs, which must Close what
// it returns. Options.Password is also that of the Sentinels, and TLS holds for them, too.
func LaunchWithSentinels(ctx context.Context, o Options) (*Cluster, error) {
	switch {
	case o.Primaries > 1:
		return nil, fmt.Errorf("servers: Options.Primaries = %d: with Sentinels there is one", o.Primaries)
	case o.Username != "":
		return nil, fmt.Errorf("servers: Options.Username: not with Sentinels")
	}
	c, err := launch(ctx, o.withDefaults(), 1+o.Replicas, true)
	if err != nil {
		return nil, err
	}
	if err := c.watch(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// watch makes all nodes but the first replicas of it and starts the Sentinels.
func (c *Cluster) watch(ctx context.Context) error {
	for _, n := range c.nodes[1:] {
		if err := n.Do(ctx, nil, "REPLICAOF", "127.0.0.1", strconv.Itoa(c.nodes[0].Port())); err != nil {
			return err
		}
	}
	for _, n := range c.nodes[1:] {
		err := poll(ctx, n.Addr()+" is in step with its primary", func() (bool, error) {
			var info string
			err := n.Do(ctx, &info, "INFO", "replication")
			return strings.Contains(info, "master_link_status:up"), err
		})
		if err != nil {
			return err
		}
	}
	for i := range sentinelCount {
		n, err := c.startSentinel(ctx, i)
		if n != nil && n.cmd != nil {
			c.sentinels = append(c.sentinels, n)
		}
		if err != nil {
			return err
		}
	}
	return poll(ctx, "the Sentinels know each other and the replicas", func() (bool, error) {
		for _, n := range c.sentinels {
			told, err := n.monitored(ctx)
			if err != nil || told["num-slaves"] != strconv.Itoa(len(c.nodes)-1) || told["num-other-sentinels"] != strconv.Itoa(sentinelCount-1) {
				return false, err
			}
		}
		return true, nil
	})
}

func (c *Cluster) startSentinel(ctx context.Context, i int) (*Node, error) {
	ports, err := c.freePorts(1)
	if err != nil {
		return nil, err
	}
	n := &Node{cluster: c, ports: ports[0], dir: filepath.Join(c.dir, "sentinel"+strconv.Itoa(i)), args: []string{"--sentinel"}}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	monitor := "sentinel monitor " + PrimaryName + " 127.0.0.1 " + strconv.Itoa(c.nodes[0].Port())
	lines := []string{
		"bind 127.0.0.1", "protected-mode no", "daemonize no", "logfile log",
		monitor + " " + strconv.Itoa(sentinelCount/2+1),
		"sentinel down-after-milliseconds " + PrimaryName + " " + strconv.FormatInt(downAfter.Milliseconds(), 10),
		"sentinel failover-timeout " + PrimaryName + " 5000",
	}
	lines = append(lines, c.listening(n)...)
	if p := c.options.Password; p != "" {
		lines = append(lines, "requirepass "+p, "sentinel sentinel-pass "+p, "sentinel auth-pass "+PrimaryName+" "+p)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "redis.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	return n, n.start(ctx)
}

// monitored returns what a Sentinel tells of the primary.
func (n *Node) monitored(ctx context.Context) (map[string]string, error) {
	var told map[string]string
	err := n.Do(ctx, &told, "SENTINEL", "MASTER", PrimaryName)
	return told, err
}

// Sentinels returns the Sentinels, nil if there are none.
func (c *Cluster) Sentinels() []*Node { return c.sentinels }

// SentinelAddrs returns the addresses of the Sentinels.
func (c *Cluster) SentinelAddrs() []string {
	addrs := make([]string, len(c.sentinels))
	for i, n := range c.sentinels {
		addrs[i] = n.Addr()
	}
	return addrs
}

// WaitWatched waits until all Sentinels that run name the same primary, which says
// that it is one, and have it and all other servers that run as its replicas in
// step, and returns it.
func (c *Cluster) WaitWatched(ctx context.Context) (primary *Node, err error) {
	err = poll(ctx, "the Sentinels agree about a primary", func() (bool, error) {
		primary = nil
		for _, n := range c.sentinels {
			told, err := n.monitored(ctx)
			if err != nil {
				return false, nil // it may be down
			}
			if told["flags"] != "master" || primary != nil && told["port"] != strconv.Itoa(primary.Port()) {
				return false, nil
			}
			primary = c.byPort(told["port"])
		}
		return primary != nil && c.inStep(ctx, primary), nil
	})
	return primary, err
}

func (c *Cluster) byPort(port string) *Node {
	for _, n := range c.nodes {
		if strconv.Itoa(n.Port()) == port {
			return n
		}
	}
	return nil
}

// inStep reports whether the node is a primary and all others that run its
// replicas, in step with it.
func (c *Cluster) inStep(ctx context.Context, primary *Node) bool {
	for _, n := range c.nodes {
		if !n.running() {
			continue
		}
		var info string
		if n.Do(ctx, &info, "INFO", "replication") != nil {
			return false
		}
		if n == primary {
			if !strings.Contains(info, "role:master") {
				return false
			}
		} else if !strings.Contains(info, "master_link_status:up") || !strings.Contains(info, "master_port:"+strconv.Itoa(primary.Port())+"\r\n") {
			return false
		}
	}
	return true
}

// SentinelFailover lets the Sentinels make a replica the primary, though the
// present one answers.
func (c *Cluster) SentinelFailover(ctx context.Context) error {
	conn, err := c.sentinels[0].dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Do(ctx, radix.Cmd(nil, "SENTINEL", "FAILOVER", PrimaryName))
}
