package alerts

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit/limitmetrics"
	"github.com/redislanes/redislanes/metrics"
)

// TestBoundsAreBuckets: a bound of P99 is one of the buckets. Between two of them
// Prometheus guesses, and an alert fires far below its bound, or far above.
func TestBoundsAreBuckets(t *testing.T) {
	buckets := make(map[string][]float64)
	registry := prometheus.NewRegistry()
	requests, decisions := metrics.New(), limitmetrics.New()
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
