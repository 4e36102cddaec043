package live

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// metrics returns those of a service that makes 1,000 decisions a second, 100 of them without Redis, after so many
// seconds. In the fifth second a node goes down, and in the eighth slots move.
func metrics(n int) string {
	since := func(second int) int { return min(1, max(0, n-second+1)) }
	wave := int(400 * math.Sin(float64(n)/2))
	text := fmt.Sprintf(`# TYPE redislanes_limit_decisions_total counter
redislanes_limit_decisions_total{limit="a",outcome="allowed",shadow="false"} %d
redislanes_limit_decisions_total{limit="b",outcome="allowed",shadow="false"} %d
redislanes_limit_decisions_total{limit="a",outcome="denied",shadow="false"} %[2]d
redislanes_limit_decisions_total{limit="a",outcome="failed_open",shadow="false"} %[2]d
redislanes_limit_hits_total{limit="a",hits="counted"} %d
redislanes_limit_hits_total{limit="a",hits="leased"} %d
redislanes_limit_hits_total{limit="a",hits="returned"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="0.001"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="0.01"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="+Inf"} %[7]d
redislanes_error_replies_total{node="10.0.0.1:6379",code="OOM"} %d
redislanes_error_replies_total{node="10.0.0.1:6379",code="BUSY"} 0
redislanes_dials_total{node="10.0.0.1:6379",result="error"} %d
redislanes_dials_total{node="10.0.0.1:6379",result="success"} %[9]d
ratelimit_requests_total{method="grpc",code="Unavailable"} %d
ratelimit_requests_total{method="json",code="503"} %[10]d
ratelimit_requests_total{method="json",code="429"} %[10]d
redislanes_redirects_total{kind="moved"} %d
redislanes_redirects_total{kind="ask"} %[10]d
some_other_total{x="a \"quoted\" word"} 1
`, 700*n+wave, 100*n, 800*n, 300*n-wave, 20*n, 99*n, 100*n, 3*n, n, 2*n, 3*since(8))
	for i := range 3 {
		for name, value := range map[string]float64{"open_connections": 4, "max_connections": 4, "in_flight_batches": float64(2 + 3*i),
			"waiters": 0, "saturation_ratio": 0.25, "down": float64(since(5) * (i / 2))} {
			text += fmt.Sprintf("redislanes_pool_%s{node=\"10.0.0.%d:6379\",role=\"primary\"} %v\n", name, i+1, value)
		}
	}
	return text
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

var elsewhere = regexp.MustCompile(`(?:src|href|url|fetch|import)\s*[=(]\s*["']?(?:https?:)?//`)

// TestNothingComesFromElsewhere: the page is whole without a network.
func TestNothingComesFromElsewhere(t *testing.T) {
	h := Handler()
	for _, name := range []string{"", "live.js", "live.css", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE"} {
		w := get(t, h, "/live/"+name)
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'self'")
		require.NotRegexp(t, elsewhere, w.Body.String(), name)
	}
	require.Contains(t, get(t, h, "/live/uplot/LICENSE").Body.String(), "MIT License")
	require.Equal(t, http.StatusNotFound, get(t, h, "/live/nothing").Code)
	require.True(t, elsewhere.MatchString(`<script src="//cdn.example/x.js">`))
}
