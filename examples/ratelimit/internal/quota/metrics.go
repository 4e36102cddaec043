package quota

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	assignments *prometheus.CounterVec
	hits        *prometheus.CounterVec
	failures    prometheus.Counter
}

func newMetrics(registry prometheus.Registerer, s *Server) *metrics {
	m := &metrics{
		assignments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_quota_assignments_total", Help: "Assignments that were sent, with those that were renewed, by what they are.",
		}, []string{"kind"}),
		hits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_quota_hits_total", Help: "Hits that clients have reported, by what became of them.",
		}, []string{"outcome"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ratelimit_quota_lease_failures_total", Help: "How often leases could not be renewed.",
		}),
	}
	gauge := func(name, help string, n func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return float64(n())
		})
	}
	registry.MustRegister(m.assignments, m.hits, m.failures,
		gauge("ratelimit_quota_streams", "Streams that are open.", func() int { return len(s.streams) }),
		gauge("ratelimit_quota_buckets", "Buckets that clients share, without those that need no lease.", func() int { return len(s.buckets) }),
	)
	for _, kind := range []string{"token_bucket", "deny_all", "allow_all", "abandon"} { // a rate needs a value to start from
		m.assignments.WithLabelValues(kind)
	}
	m.used(0, 0)
	return m
}

func (m *metrics) assigned(kind string) { m.assignments.WithLabelValues(kind).Inc() }

func (m *metrics) used(allowed, denied uint64) {
	m.hits.WithLabelValues("allowed").Add(float64(allowed))
	m.hits.WithLabelValues("denied").Add(float64(denied))
}
