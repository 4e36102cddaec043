package drill

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A watch is a Prometheus with its exporters.
type watch struct{ url string }

// startWatch runs start.sh. Others may take a port before its programs listen there: then
// it ends, and is run again with other ports.
func startWatch(t *testing.T, service string, nodes []string) *watch {
	const tries = 5
	for range tries {
		if w := tryWatch(t, service, nodes); w != nil {
			return w
		}
	}
	require.Fail(t, "no ports are free for start.sh", "%d tries", tries)
	return nil
}

// requireExportersEnv turns the skipping of TestStartScript for want of a program into a failure,
// if it is 1.
const requireExportersEnv = "REDISLANES_REQUIRE_EXPORTERS"

// TestStartScript: the URL that monitoring/start.sh prints leads to a page, whichever
// Prometheus is installed.
func TestStartScript(t *testing.T) {
	for _, program := range []string{"prometheus", "prometheus-redis-exporter", "prometheus-node-exporter"} {
		if _, err := exec.LookPath(program); err != nil {
			require.NotEqual(t, "1", os.Getenv(requireExportersEnv), "%v, and %s=1: install it, make drill does", err, requireExportersEnv)
			t.Skip(err)
		}
	}
	startWatch(t, "127.0.0.1:1", []string{"127.0.0.1:1"})
}

// tryWatch returns nil if a port was taken.
func tryWatch(t *testing.T, service string, nodes []string) *watch {
	ports := freePorts(t, 3)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command("../../../monitoring/start.sh", append([]string{service}, nodes...)...)
	cmd.Env = append(os.Environ(), "PROMETHEUS_PORT="+ports[0], "REDIS_EXPORTER_PORT="+ports[1], "NODE_EXPORTER_PORT="+ports[2])
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	var ended error
	end := make(chan struct{})
	go func() {
		defer close(end)
		ended = cmd.Wait()
	}()
	said := func() string {
		text, _ := os.ReadFile(log.Name())
		return string(text)
	}
	t.Cleanup(func() {
		_ = log.Close()
		if t.Failed() {
			t.Logf("start.sh said:\n%s", said())
		}
	})
	w := &watch{url: "http://127.0.0.1:" + ports[0]}
	deadline, look := time.After(30*time.Second), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if _, err := w.alerts(); err != nil {
				continue
			}
			printed := regexp.MustCompile(`http://\S+`).FindString(said())
			page, err := http.Get(printed)
			require.NoError(t, err)
			_ = page.Body.Close()
			require.Equal(t, http.StatusOK, page.StatusCode, "the URL %s that start.sh prints", printed)
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-end
				require.NoError(t, ended, "start.sh stops what it has started")
			})
			return w
		case <-end:
			require.Contains(t, said(), "address already in use")
			return nil
		case <-deadline:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-end
			require.Fail(t, "Prometheus does not start")
		}
	}
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

// An alert is how long it took to fire first, since when its expression had been true
// then, and for which nodes it fired.
type alert struct {
	after  time.Duration
	active time.Time
	nodes  []string
}

// firing returns the alerts that fire within the time.
func (w *watch) firing(t *testing.T, within time.Duration) map[string]alert {
	began, all := time.Now(), make(map[string]alert)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for time.Since(began) < within {
		<-look.C
		now, err := w.alerts("firing")
		require.NoError(t, err)
		for _, f := range now {
			name := f.Labels["alertname"]
			a, known := all[name]
			if !known {
				a.after, a.active = time.Since(began), f.ActiveAt
			}
			if node := f.Labels["node"]; node != "" && !slices.Contains(a.nodes, node) {
				a.nodes = append(a.nodes, node)
			}
			all[name] = a
		}
	}
	return all
}

// state is what Prometheus says of an alert.
type state struct {
	State    string
	ActiveAt time.Time
	Labels   map[string]string
}

// alerts returns those that are now in one of the states: pending, firing.
func (w *watch) alerts(states ...string) (those []state, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Get(w.url + "/api/v1/alerts")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data struct{ Alerts []state }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	for _, a := range answer.Data.Alerts {
		if slices.Contains(states, a.State) {
			those = append(those, a)
		}
	}
	return those, nil
}
