// Package monitoring has the tests of start.sh and alertmanager.yml.
package monitoring

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireExportersEnv turns the skipping of a test for want of a program into a failure,
// if it is 1.
const requireExportersEnv = "REDISLANES_REQUIRE_EXPORTERS"

// TestStartScript: the URL that monitoring/start.sh prints leads to a page, whichever
// Prometheus is installed. Another program may take a port before the script listens there. Then
// the script ends, and the test runs it again with other ports.
func TestStartScript(t *testing.T) {
	for _, program := range []string{"prometheus", "prometheus-redis-exporter", "prometheus-node-exporter"} {
		if _, err := exec.LookPath(program); err != nil {
			require.NotEqual(t, "1", os.Getenv(requireExportersEnv), "%v, and %s=1", err, requireExportersEnv)
			t.Skip(err)
		}
	}
	const tries = 5
	for range tries {
		if started(t) {
			return
		}
	}
	require.Fail(t, "no ports are free for start.sh", "%d tries", tries)
}

// started runs the script, and reports false if a port was taken.
func started(t *testing.T) bool {
	ports := freePorts(t, 3)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { _ = log.Close() }()
	cmd := exec.Command("./start.sh", "127.0.0.1:1", "127.0.0.1:1")
	cmd.Env = append(os.Environ(), "PROMETHEUS_PORT="+ports[0], "REDIS_EXPORTER_PORT="+ports[1], "NODE_EXPORTER_PORT="+ports[2])
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	deadline, look := time.After(30*time.Second), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for {
		text, _ := os.ReadFile(log.Name())
		select {
		case <-look.C:
			if page := printedPage(string(text)); page == http.StatusOK {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				require.NoError(t, <-end, "start.sh stops what it has started")
				return true
			}
		case err := <-end:
			require.Error(t, err)
			require.Contains(t, string(text), "address already in use")
			return false
		case <-deadline:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			require.Fail(t, "Prometheus does not start", "start.sh ended with %v and said:\n%s", <-end, text)
		}
	}
}

// printedPage returns the status of the page that the script prints; 0 if there is none yet.
func printedPage(text string) int {
	url := regexp.MustCompile(`http://\S+`).FindString(text)
	if url == "" {
		return 0
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	page, err := client.Get(strings.TrimSuffix(url, "."))
	if err != nil {
		return 0
	}
	_ = page.Body.Close()
	return page.StatusCode
}

// freePorts returns ports on which nobody listens.
func freePorts(t *testing.T, n int) (ports []string) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		ports = append(ports, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports
}
