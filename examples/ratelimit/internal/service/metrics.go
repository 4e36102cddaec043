package service

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
)

// Metrics are the service's own.
type Metrics struct {
	requests  *prometheus.CounterVec
	took      *prometheus.HistogramVec
	inFlight  *prometheus.GaugeVec
	unmatched *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	succeeded prometheus.Gauge
	loaded    prometheus.Gauge
}

// NewMetrics returns metrics that are registered.
func NewMetrics(registry prometheus.Registerer, store *rules.Store) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_requests_total", Help: "Requests that were answered, by method and code.",
		}, []string{"method", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratelimit_request_duration_seconds", Help: "How long answers took.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		}, []string{"method"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ratelimit_requests_in_flight", Help: "Requests that are being answered now, by method.",
		}, []string{"method"}),
		unmatched: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_unmatched_requests_total", Help: "Requests that match no rule, by domain; (unknown) if the rules have no such domain.",
		}, []string{"domain"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_rules_reloads_total", Help: "How often the files of rules had changed, by what came of it.",
		}, []string{"result"}),
		succeeded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_rules_last_reload_successful", Help: "1 if the files of rules are those in force, 0 if there is a mistake in them.",
		}),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_rules_loaded_timestamp_seconds", Help: "When the rules in force were loaded.",
		}),
	}
	inForce := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ratelimit_rules", Help: "Rules in force.",
	}, func() float64 { return float64(store.Set().Rules()) })
	registry.MustRegister(m.requests, m.took, m.inFlight, m.unmatched, m.reloads, m.succeeded, m.loaded, inForce)
	for _, result := range []string{"success", "error"} { // a rate needs a value to start from
		m.reloads.WithLabelValues(result)
	}
	m.unmatched.WithLabelValues(unknownDomain)
	m.succeeded.Set(1)
	m.loaded.SetToCurrentTime()
	return m
}

// unknownDomain stands for all domains that the rules do not have: a label must not be
// made from what requests say.
const unknownDomain = "(unknown)"

// matchedNothing counts a request that matches no rule.
func (m *Metrics) matchedNothing(domain string, known bool) {
	if !known {
		domain = unknownDomain
	}
	m.unmatched.WithLabelValues(domain).Inc()
}

// begin counts a request over gRPC. Its end is counted by the returned function.
func (m *Metrics) begin() (done func(code string)) {
	began, inFlight := time.Now(), m.inFlight.WithLabelValues("grpc")
	inFlight.Inc()
	return func(code string) {
		inFlight.Dec()
		m.requests.WithLabelValues("grpc", code).Inc()
		m.took.WithLabelValues("grpc").Observe(time.Since(began).Seconds())
	}
}

// handler counts requests over HTTP.
func (m *Metrics) handler(method string, next http.HandlerFunc) http.Handler {
	labels := prometheus.Labels{"method": method}
	counted := promhttp.InstrumentHandlerCounter(m.requests.MustCurryWith(labels), next)
	timed := promhttp.InstrumentHandlerDuration(m.took.MustCurryWith(labels), counted)
	return promhttp.InstrumentHandlerInFlight(m.inFlight.With(labels), timed)
}

// Reloaded counts a change of the files, and the mistake if there is one.
func (m *Metrics) Reloaded(err error) {
	if err != nil {
		m.reloads.WithLabelValues("error").Inc()
		m.succeeded.Set(0)
		return
	}
	m.reloads.WithLabelValues("success").Inc()
	m.succeeded.Set(1)
	m.loaded.SetToCurrentTime()
}
