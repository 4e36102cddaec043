package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RequireEnv is the environment variable that, set to 1, turns the skipping of
// tests for want of a server into a failure.
const RequireEnv = "REDISLANES_REQUIRE_REDIS"

// ServerEnv is the environment variable that names the server which is started
// where nothing else is asked for: the name of a folder of bin/servers, such as
// valkey-9.1, or the absolute path of a server. Default is the redis-server in
// the PATH.
const ServerEnv = "REDISLANES_TEST_SERVER"

// ServersEnv is the environment variable that lists further servers for the
// tests that try several, their paths separated as in the PATH.
const ServersEnv = "REDISLANES_SERVERS"

var errNoServer = errors.New("servers: no redis-server in the PATH: install it, or run `make test`, which does")

// Binary returns the path of the server that is started where nothing else is
// asked for; see [ServerEnv].
func Binary() (string, error) {
	name := os.Getenv(ServerEnv)
	if name == "" {
		path, err := exec.LookPath("redis-server")
		if err != nil {
			return "", errNoServer
		}
		return path, nil
	}
	if filepath.IsAbs(name) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("servers: %s: %w", ServerEnv, err)
		}
		return path, nil
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("servers: %s = %q: must be the name of a folder of bin/servers, or an absolute path", ServerEnv, name)
	}
	return installed(name)
}

// installed finds a folder of bin/servers. Tests run in the folders of their
// packages, somewhere below bin's parent.
func installed(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("servers: %w", err)
	}
	for {
		for _, server := range []string{"redis-server", "valkey-server"} {
			if path, err := exec.LookPath(filepath.Join(dir, "bin", "servers", name, server)); err == nil {
				return path, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("servers: %s = %q: no such server in bin/servers: run scripts/ensure-servers.sh", ServerEnv, name)
		}
		dir = parent
	}
}

// HaveServer reports whether there is a server to start.
func HaveServer() bool {
	_, err := Binary()
	return err == nil
}

// RequireServer skips the test if there is no redis-server in the PATH, or fails
// it if [RequireEnv] is 1. It fails, too, if the server that [ServerEnv] names
// is missing.
func RequireServer(tb testing.TB) {
	tb.Helper()
	_, err := Binary()
	switch {
	case err == nil:
	case !errors.Is(err, errNoServer):
		tb.Fatal(err)
	case os.Getenv(RequireEnv) == "1":
		tb.Fatalf("%v (%s=1)", err, RequireEnv)
	default:
		tb.Skip(err)
	}
}

// Servers returns the server of [Binary] and those that [ServersEnv] lists. It
// skips the test, or fails it, as [RequireServer] does.
func Servers(tb testing.TB) []string {
	tb.Helper()
	RequireServer(tb)
	binary, err := Binary()
	if err != nil {
		tb.Fatal(err)
	}
	return append([]string{binary}, filepath.SplitList(os.Getenv(ServersEnv))...)
}

// A release says which server a binary is.
type release struct {
	valkey       bool
	major, minor int
}

// releaseOf asks the binary.
func releaseOf(binary string) (release, error) {
	out, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return release{}, fmt.Errorf("servers: %s --version: %w", binary, err)
	}
	_, version, _ := strings.Cut(string(out), " v=")
	r := release{valkey: strings.HasPrefix(string(out), "Valkey ")}
	if _, err := fmt.Sscanf(version, "%d.%d", &r.major, &r.minor); err != nil {
		return release{}, fmt.Errorf("servers: no version in %q", out)
	}
	return r, nil
}

// choosesBus reports whether a node's port of the cluster bus can be set.
func (r release) choosesBus() bool { return r.major >= 7 }
