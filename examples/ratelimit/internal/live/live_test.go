package live

import (
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const start = 1_795_000_000

// A service is metrics that change each time they are looked at, as if a second had passed.
type service struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
	hits      *prometheus.CounterVec
	took      prometheus.Histogram
	replies   *prometheus.CounterVec
	dials     *prometheus.CounterVec
	answers   *prometheus.CounterVec
	redirects *prometheus.CounterVec
	pools     map[string]*prometheus.GaugeVec

	mu   sync.Mutex // guards what follows
	time time.Time
}

func newService() *service {
	s := &service{registry: prometheus.NewRegistry(), pools: make(map[string]*prometheus.GaugeVec), time: time.Unix(start, 0)}
	counter := func(name string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name}, labels)
		s.registry.MustRegister(c)
		return c
	}
	s.decisions = counter("redislanes_limit_decisions_total", "limit", "outcome")
	s.hits = counter("redislanes_limit_hits_total", "limit", "hits")
	s.replies = counter("redislanes_error_replies_total", "node", "code")
	s.answers = counter("ratelimit_requests_total", "method", "code")
	s.dials = counter("redislanes_dials_total", "node", "result")
	s.redirects = counter("redislanes_redirects_total", "kind")
	counter("some_other_total", "x").WithLabelValues("y").Inc()
	s.took = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "redislanes_limit_duration_seconds", Buckets: []float64{0.001, 0.01, 0.1}})
	s.registry.MustRegister(s.took)
	for _, name := range []string{"open_connections", "max_connections", "in_flight_batches", "waiters", "saturation_ratio", "down"} {
		name = "redislanes_pool_" + name
		s.pools[name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name}, []string{"node", "role"})
		s.registry.MustRegister(s.pools[name])
	}
	for i, node := range []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"} {
		for name, value := range map[string]float64{"open_connections": 4, "max_connections": 4, "in_flight_batches": float64(2 + 3*i),
			"waiters": 0, "saturation_ratio": 0.25, "down": 0} {
			s.pools["redislanes_pool_"+name].WithLabelValues(node, "primary").Set(value)
		}
	}
	return s
}

// next lets a second pass with 1,000 decisions, of which 100 are made without Redis. In the fifth second a node
// goes down, and in the eighth slots move.
func (s *service) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = s.time.Add(time.Second)
	wave := 200 * math.Sin(float64(s.time.Unix())/2)
	s.decisions.WithLabelValues("a", "allowed").Add(700 + wave)
	s.decisions.WithLabelValues("b", "allowed").Add(100)
	s.decisions.WithLabelValues("a", "denied").Add(100)
	s.decisions.WithLabelValues("a", "failed_open").Add(100)
	switch s.time.Unix() - start {
	case 5:
		s.pools["redislanes_pool_down"].WithLabelValues("10.0.0.3:6379", "primary").Set(1)
	case 8:
		s.redirects.WithLabelValues("moved").Add(3)
		s.redirects.WithLabelValues("ask").Add(9)
	}
	s.hits.WithLabelValues("a", "counted").Add(800)
	s.hits.WithLabelValues("a", "leased").Add(300 - wave)
	s.hits.WithLabelValues("a", "returned").Add(20)
	s.replies.WithLabelValues("10.0.0.1:6379", "OOM").Add(3)
	s.replies.WithLabelValues("10.0.0.1:6379", "BUSY").Add(0)
	s.dials.WithLabelValues("10.0.0.1:6379", "error").Add(1)
	s.dials.WithLabelValues("10.0.0.1:6379", "success").Add(1)
	s.answers.WithLabelValues("grpc", "Unavailable").Add(2)
	s.answers.WithLabelValues("json", "503").Add(2)
	s.answers.WithLabelValues("json", "429").Add(2)
	for range 99 {
		s.took.Observe(0.0005)
	}
	s.took.Observe(0.005)
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
