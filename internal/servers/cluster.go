package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Cluster is redis-server processes that this process has started: a Redis
// Cluster, or one server without cluster mode, maybe with replicas and Sentinels. Its methods are safe for
// concurrent use.
type Cluster struct {
	options  Options
	single   bool
	dir      string
	watchdog *watchdog
	release  release
	ca       *authority // nil without TLS
	nodes    []*Node
	close    sync.Once

	sentinels []*Node
	claims    []net.PacketConn // of the nodes' ports
}

const startTime = 60 * time.Second

// StartCluster starts a Redis Cluster for the test and stops it at its end. If
// the test fails, the ends of the servers' logs are printed. Without a server it
// skips the test; see [RequireServer]. It also does where TLS is wanted of a
// server that was built without.
func StartCluster(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	return start(tb, o, LaunchCluster)
}

// StartServer is [StartCluster] for one server without cluster mode.
func StartServer(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	return start(tb, o, LaunchServer)
}

func start(tb testing.TB, o Options, launch func(context.Context, Options) (*Cluster, error)) *Cluster {
	tb.Helper()
	RequireServer(tb)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	c, err := launch(ctx, o)
	if errors.Is(err, errTLS) && (os.Getenv(ServerEnv) != "" || os.Getenv(RequireEnv) != "1") {
		tb.Skip(err) // only of the default server it is asked that it has TLS
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			for _, n := range slices.Concat(c.nodes, c.sentinels) {
				tb.Logf("log of %s:\n%s", n.Addr(), n.Log())
			}
		}
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// LaunchCluster starts a Redis Cluster, which the caller must Close. It is
// healthy when LaunchCluster returns.
func LaunchCluster(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	return launch(ctx, o, o.Primaries*(1+o.Replicas), false)
}

// LaunchServer starts one server without cluster mode, which the caller must
// Close.
func LaunchServer(ctx context.Context, o Options) (*Cluster, error) {
	if o.Primaries > 1 || o.Replicas > 0 {
		return nil, fmt.Errorf("servers: Options.Primaries = %d, Replicas = %d: a server is one", o.Primaries, o.Replicas)
	}
	return launch(ctx, o.withDefaults(), 1, true)
}

func launch(ctx context.Context, o Options, n int, single bool) (*Cluster, error) {
	err := o.validate()
	if err != nil {
		return nil, err
	}
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return nil, err
		}
	}
	const attempts = 3
	for range attempts {
		var c *Cluster
		if c, err = tryLaunch(ctx, o, n, single); err == nil {
			return c, nil
		}
		if !errors.Is(err, errPort) {
			return nil, err
		}
	}
	return nil, err
}

// makeDir makes a directory for servers, in memory where Linux has some: a node
// writes each change of its cluster through to the disk, and answers nobody until
// that is done, which takes seconds on a busy one.
func makeDir() (string, error) {
	if dir, err := os.MkdirTemp("/dev/shm", "redistest"); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", "redistest")
}

func tryLaunch(ctx context.Context, o Options, n int, single bool) (*Cluster, error) {
	dir, err := makeDir()
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	c := &Cluster{options: o, single: single, dir: dir}
	if c.release, err = releaseOf(o.Binary); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if c.watchdog, err = startWatchdog(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if err = c.run(ctx, n); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) run(ctx context.Context, n int) error {
	if c.options.TLS {
		ca, err := newAuthority(c.dir)
		if err != nil {
			return err
		}
		c.ca = ca
	}
	ports, err := c.freePorts(n)
	if err != nil {
		return err
	}
	for i := range n {
		node := &Node{cluster: c, ports: ports[i], dir: filepath.Join(c.dir, strconv.Itoa(i))}
		if err := c.prepare(node); err != nil {
			return err
		}
		if err := node.start(ctx); err != nil {
			if node.cmd != nil {
				c.nodes = append(c.nodes, node)
			}
			return err
		}
		c.nodes = append(c.nodes, node)
	}
	if c.single {
		return nil
	}
	return c.form(ctx)
}

// prepare writes the node's folder and settings.
func (c *Cluster) prepare(n *Node) error {
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	return c.configure(n, n.dir, c.single)
}

// configure writes the node's settings into the folder, with cluster mode unless
// single is set.
func (c *Cluster) configure(n *Node, dir string, single bool) error {
	lines := []string{
		"bind 127.0.0.1", "protected-mode no", "daemonize no", "logfile log", `save ""`, "appendonly no",
		// What a replica was sent stays in a file otherwise, and comes back at a
		// restart: a node with keys of slots that it owns no more refuses to learn who
		// does, for ever.
		"rdb-del-sync-files yes",
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
	}
	if c.release.major >= 7 {
		lines = append(lines, "enable-debug-command yes")
	}
	lines = append(lines, c.listening(n)...)
	if p := c.options.Password; p != "" {
		lines = append(lines, "requirepass "+p, "masterauth "+p)
		if u := c.options.Username; u != "" {
			lines = append(lines, "user "+u+" on >"+p+" ~* &* +@all")
		}
	}
	if !single {
		lines = append(lines, "cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout "+strconv.FormatInt(c.options.NodeTimeout.Milliseconds(), 10), "cluster-replica-validity-factor 0")
		if c.release.choosesBus() {
			lines = append(lines, "cluster-port "+strconv.Itoa(n.ports.bus))
		}
	}
	lines = append(lines, c.options.Directives...)
	if err := os.WriteFile(filepath.Join(dir, "redis.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	return nil
}

// listening returns the settings of the node's port.
func (c *Cluster) listening(n *Node) []string {
	port := strconv.Itoa(n.Port())
	if c.ca == nil {
		return []string{"port " + port}
	}
	return append(c.ca.directives(c.options.ClientCerts), "port 0", "tls-port "+port)
}

// IsValkey reports whether the servers are Valkey.
func (c *Cluster) IsValkey() bool { return c.release.valkey }

// Major returns the major version of the servers: of Redis, or of Valkey, whose
// first one is 7.
func (c *Cluster) Major() int { return c.release.major }

// Close stops all processes and removes their files. Closing again does
// nothing.
func (c *Cluster) Close() error {
	var err error
	c.close.Do(func() {
		for _, n := range slices.Concat(c.sentinels, c.nodes) {
			err = errors.Join(err, n.Kill())
		}
		c.watchdog.quit()
		c.giveUpPorts()
		err = errors.Join(err, os.RemoveAll(c.dir))
	})
	return err
}

// Addrs returns the addresses of all nodes, host:port, those first that were
// primaries at the start.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// Nodes returns the nodes in the order of Addrs.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// TLSFiles returns the paths of PEM files: of the authority, and of a certificate
// with its key, which clients may show. Empty without TLS.
func (c *Cluster) TLSFiles() (ca, cert, key string) {
	if c.ca == nil {
		return "", "", ""
	}
	file := func(name string) string { return filepath.Join(c.ca.dir, name) }
	return file("ca.pem"), file("cert.pem"), file("key.pem")
}

// TLSConfig returns a client's settings that trust the servers, with a
// certificate if they demand one; nil without TLS.
func (c *Cluster) TLSConfig() *tls.Config {
	if c.ca == nil {
		return nil
	}
	config := &tls.Config{RootCAs: c.ca.pool, MinVersion: tls.VersionTLS12}
	if c.options.ClientCerts {
		config.Certificates = []tls.Certificate{c.ca.own}
	}
	return config
}
