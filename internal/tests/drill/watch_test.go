package drill

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A watch is a Prometheus with its exporters.
type watch struct{ url string }

func startWatch(t *testing.T, service string, nodes []string) *watch {
	ports := freePorts(t, 3)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command("../../../monitoring/start.sh", append([]string{service}, nodes...)...)
	cmd.Env = append(os.Environ(), "PROMETHEUS_PORT="+ports[0], "REDIS_EXPORTER_PORT="+ports[1], "NODE_EXPORTER_PORT="+ports[2])
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		require.NoError(t, cmd.Wait(), "start.sh stops what it has started")
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("start.sh said:\n%s", text)
		}
	})
	w := &watch{url: "http://127.0.0.1:" + ports[0]}
	deadline := time.Now().Add(30 * time.Second)
	for look := time.NewTicker(100 * time.Millisecond); ; <-look.C {
		if _, err := w.alerts(); err == nil {
			look.Stop()
			return w
		}
		require.True(t, time.Now().Before(deadline), "Prometheus does not start")
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

// An alert is how long it took to fire first, and for which nodes it fired.
type alert struct {
	after time.Duration
	nodes []string
}

// firing returns the alerts that fire within the time.
func (w *watch) firing(t *testing.T, within time.Duration) map[string]alert {
	began, all := time.Now(), make(map[string]alert)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for time.Since(began) < within {
		<-look.C
		now, err := w.alerts()
		require.NoError(t, err)
		for _, labels := range now {
			a, known := all[labels["alertname"]]
			if !known {
				a.after = time.Since(began)
			}
			if node := labels["node"]; node != "" && !slices.Contains(a.nodes, node) {
				a.nodes = append(a.nodes, node)
			}
			all[labels["alertname"]] = a
		}
	}
	return all
}

// alerts returns the labels of those that fire now.
func (w *watch) alerts() (firing []map[string]string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Get(w.url + "/api/v1/alerts")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			firing = append(firing, a.Labels)
		}
	}
	return firing, nil
}
