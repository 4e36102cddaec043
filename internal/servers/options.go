package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options are the settings of a cluster or server. The zero value is three
// primaries without replicas, password or TLS.
type Options struct {
	Primaries   int           // default 3; a server has one
	Replicas    int           // of each primary; default 0
	Username    string        // an ACL user with all rights, besides the default one; needs a Password
	Password    string        // of the default user and of Username; default none
	TLS         bool          // the servers speak TLS only, with a certificate of [Cluster.TLSConfig]'s CA
	ClientCerts bool          // the servers demand a certificate of clients, such as [Cluster.TLSConfig]'s; needs TLS
	NodeTimeout time.Duration // cluster-node-timeout; default 1 s
	Directives  []string      // further lines of redis.conf
	Binary      string        // the server; default redis-server
}

func (o Options) withDefaults() Options {
	if o.Primaries == 0 {
		o.Primaries = 3
	}
	if o.Binary == "" {
		o.Binary = "redis-server"
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = time.Second
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Primaries < 1:
		return fmt.Errorf("servers: Options.Primaries = %d: must be positive", o.Primaries)
	case o.Replicas < 0:
		return fmt.Errorf("servers: Options.Replicas = %d: must not be negative", o.Replicas)
	case o.Username != "" && o.Password == "":
		return fmt.Errorf("servers: Options.Username = %q without a Password", o.Username)
	case o.ClientCerts && !o.TLS:
		return fmt.Errorf("servers: Options.ClientCerts without TLS")
	case strings.ContainsAny(o.Username+o.Password, " \t\r\n\"'#>"):
		return fmt.Errorf("servers: Options.Username or Password with a blank, quote, # or >, which redis.conf cannot hold")
	case o.NodeTimeout < 0:
		return fmt.Errorf("servers: Options.NodeTimeout = %v: must not be negative", o.NodeTimeout)
	}
	return nil
}

// RequireEnv is the environment variable that, set to 1, turns the skipping of
// tests for want of redis-server into a failure.
const RequireEnv = "REDISLANES_REQUIRE_REDIS"

// HaveServer reports whether there is a redis-server in the PATH.
func HaveServer() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// RequireServer skips the test if there is no redis-server, or fails it if
// [RequireEnv] is 1.
func RequireServer(tb testing.TB) {
	tb.Helper()
	if HaveServer() {
		return
	}
	if os.Getenv(RequireEnv) == "1" {
		tb.Fatalf("no redis-server in the PATH, and %s=1: install it, `make test` does", RequireEnv)
	}
	tb.Skip("no redis-server in the PATH: install it, or run `make test`, which does")
}

// ServersEnv is the environment variable that lists further servers, their paths
// separated as in the PATH: other versions of Redis, and Valkey.
const ServersEnv = "REDISLANES_SERVERS"

// Servers returns the redis-server in the PATH and those that [ServersEnv] lists.
func Servers() []string {
	return append([]string{"redis-server"}, filepath.SplitList(os.Getenv(ServersEnv))...)
}

// serverMajor returns the major version of the server.
func serverMajor(binary string) (int, error) {
	out, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("servers: %s --version: %w", binary, err)
	}
	_, version, _ := strings.Cut(string(out), " v=")
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0, fmt.Errorf("servers: no version in %q", out)
	}
	return n, nil
}
