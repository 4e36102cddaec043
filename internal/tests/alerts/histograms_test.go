package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/metrics/limits"
)

// TestHistograms: what the rules make of histograms is the same whether Prometheus
// scrapes classic ones or native ones, which have no _bucket and no _count. There, rules
// that ask for these never fire, and nothing says so.
func TestHistograms(t *testing.T) {
	t.Parallel()
	requirePrometheus(t, "prometheus")
	service := startService(t)
	for name, native := range map[string]bool{"classic": false, "native": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProm(t, service, native)
			for record, want := range map[string]float64{
				"redislanes:request_seconds:p99": 0.030, "redislanes:request_seconds:p50": 0.030,
				"redislanes:limit_seconds:p99": 0.030, "redislanes:wait_seconds:p99": 0.030,
			} {
				got := p.eventually(t, record)
				require.InDelta(t, want, got, map[bool]float64{false: 0.021, true: 0.0031}[native], record)
			}
			buckets := p.query(t, "count(redislanes_request_duration_seconds_bucket)")
			require.Equal(t, native, buckets == nil, "the test scrapes the kind of histogram that it says")
			for _, query := range queries(t) {
				if strings.Contains(query, "duration_seconds") && strings.Contains(query, "redislanes_") {
					p.eventually(t, query)
				}
			}
		})
	}
}

// TestBoundsAreBuckets: a bound of P99 is one of the buckets. Between two of them
// Prometheus guesses, and an alert fires far below its bound, or far above.
func TestBoundsAreBuckets(t *testing.T) {
	buckets := make(map[string][]float64)
	registry := prometheus.NewRegistry()
	requests, decisions := metrics.New(), limits.New()
	registry.MustRegister(requests, decisions)
	requests.Trace().PoolOpened(&redislanes.PoolInfo{Addr: "n1:6379", Role: "primary", Kind: "laned"})
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			buckets[family.GetName()] = append(buckets[family.GetName()], bucket.GetUpperBound())
		}
	}
	histogram := map[string]string{
		"request": "redislanes_request_duration_seconds", "limit": "redislanes_limit_duration_seconds", "wait": "redislanes_pool_wait_duration_seconds",
	}
	bounded := regexp.MustCompile(`redislanes:(\w+)_seconds:p99 > ([0-9.]+)(?: |\)|$)`)
	found := 0
	for _, r := range alerts(t) {
		for _, match := range bounded.FindAllStringSubmatch(r.Expr, -1) {
			bound, err := strconv.ParseFloat(match[2], 64)
			if strings.Contains(r.Expr, match[2]+" * ") {
				continue // times another quantile
			}
			require.NoError(t, err)
			require.Contains(t, buckets[histogram[match[1]]], bound, "%s: %s", r.Alert, match[0])
			found++
		}
	}
	require.GreaterOrEqual(t, found, 5)
}

// startService serves the metrics of requests, groups, waits and calls that all take
// 30 ms.
func startService(t *testing.T) (addr string) {
	registry := prometheus.NewRegistry()
	requests, decisions := metrics.New(), limits.New()
	registry.MustRegister(requests, decisions)
	trace, pool := requests.Trace(), &redislanes.PoolInfo{Addr: "n1:6379", Role: "primary", Kind: "laned"}
	trace.PoolOpened(pool)
	page := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const took = 30 * time.Millisecond
		for range 100 { // between any two scrapes
			trace.EndRequest(r.Context(), redislanes.RequestStart{Commands: 2}, redislanes.RequestInfo{Took: took, Commands: 2, Trips: 1})
			trace.Waited(redislanes.WaitInfo{Pool: pool, Took: took})
			trace.EndGroup(r.Context(), redislanes.GroupStart{Pool: pool, Commands: 2}, redislanes.GroupInfo{Took: took})
			decisions.Decided(took, []limit.Request{{Limit: new(limit.Limit)}}, limit.Result{Each: make([]limit.Decision, 1)})
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// prom is a Prometheus that runs.
type prom struct{ addr string }

func startProm(t *testing.T, service string, native bool) *prom {
	dir := t.TempDir()
	rules, err := filepath.Abs(monitoring + "alerts.yaml")
	require.NoError(t, err)
	config := fmt.Sprintf(`
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [%q]
scrape_configs:
  - job_name: redislanes
    static_configs: [{targets: [%q]}]
`, rules, service)
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	p := &prom{addr: freeAddr(t)}
	args := []string{"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + p.addr}
	if native {
		args = append(args, "--enable-feature=native-histograms")
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "prometheus", args...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("Prometheus said:\n%s", text)
		}
	})
	return p
}

// freeAddr returns an address on which nobody listens.
func freeAddr(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// eventually returns the value of the query's first result, once there is one.
func (p *prom) eventually(t *testing.T, query string) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		if v := p.query(t, query); v != nil {
			return *v
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("no result: %s", query)
		}
	}
}

// query returns the value of the query's first result that is a number, nil if there is none.
func (p *prom) query(t *testing.T, query string) *float64 {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Get("http://" + p.addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil // it does not listen yet
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if response.StatusCode == http.StatusServiceUnavailable {
		return nil // it is about to
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(t, "success", answer.Status, "%s: %s", query, answer.Error)
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err == nil && !math.IsNaN(v) {
			return &v
		}
	}
	return nil
}
