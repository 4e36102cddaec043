package metrics

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// A collector is a prometheus.Collector over the statistics of a client.
type collector struct {
	source interface{ Stats() redislanes.Stats }

	pool    [len(poolMetrics)]sample
	samples map[*metric]sample // of clientMetrics
}

var _ prometheus.Collector = (*collector)(nil)

var errNoSource = errors.New("metrics: the Collector has no source: make it with metrics.NewCollector and a *cluster.Client")

// Describe sends the descriptions of all metrics; part of
// prometheus.Collector. Registering a Collector without a source fails.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	if c.source == nil {
		ch <- prometheus.NewInvalidDesc(errNoSource)
		return
	}
	for _, s := range c.pool {
		ch <- s.desc
	}
	for _, s := range c.samples {
		ch <- s.desc
	}
}

// Collect takes one snapshot and sends its figures; part of
// prometheus.Collector. It does no I/O.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	if c.source == nil {
		return
	}
	s := c.source.Stats()
	c.samples[&slotsMetric].send(ch, float64(s.Slots))
	c.samples[&redirectsMetric].send(ch, float64(s.Moved), "moved")
	c.samples[&redirectsMetric].send(ch, float64(s.Ask), "ask")
	c.samples[&retriesMetric].send(ch, float64(s.Refused), "refused")
	c.samples[&retriesMetric].send(ch, float64(s.NotSent), "not_sent")
	c.samples[&retriesMetric].send(ch, float64(s.Repeated), "repeated")
	c.samples[&refreshesMetric].send(ch, float64(s.Refreshes), "success")
	c.samples[&refreshesMetric].send(ch, float64(s.RefreshErrors), "error")
	for i := range s.Nodes {
		c.collectPool(ch, s.Nodes[i].Role, &s.Nodes[i].Pool)
	}
}

func (c *collector) collectPool(ch chan<- prometheus.Metric, role string, s *redislanes.PoolStats) {
	// Servers name the nodes, and Prometheus refuses labels that are not UTF-8.
	node := strings.ToValidUTF8(s.Addr, "\uFFFD")
	for i := range poolMetrics {
		c.pool[i].send(ch, poolMetrics[i].value(s), node, role, s.Kind)
	}
	if s.Kind == "laned" {
		c.samples[&lanesMetric].send(ch, float64(len(s.LaneInFlight)), node, role, s.Kind)
		for lane, n := range s.LaneInFlight {
			c.samples[&laneInFlightMetric].send(ch, float64(n), node, role, strconv.Itoa(lane))
		}
		for lane, n := range s.SlowLaneInFlight {
			c.samples[&slowInFlightMetric].send(ch, float64(n), node, role, strconv.Itoa(lane))
		}
	}
	c.samples[&dialsMetric].send(ch, float64(s.Dials-min(s.Dials, s.DialErrors)), node, role, s.Kind, "success")
	c.samples[&dialsMetric].send(ch, float64(s.DialErrors), node, role, s.Kind, "error")
	for _, reason := range closeReasons {
		c.samples[&closedMetric].send(ch, float64(s.Closes[reason]), node, role, s.Kind, reason)
	}
	for reason, n := range s.Closes {
		if !slices.Contains(closeReasons, reason) {
			c.samples[&closedMetric].send(ch, float64(n), node, role, s.Kind, reason)
		}
	}
	for _, code := range errorCodes { // no others: a code may be a server's invention
		c.samples[&errorRepliesMetric].send(ch, float64(s.ErrorReplies[code]), node, role, s.Kind, code)
	}
}

// A sample is what a value needs to become a prometheus.Metric.
type sample struct {
	desc *prometheus.Desc
	typ  prometheus.ValueType
}

func (s sample) send(ch chan<- prometheus.Metric, value float64, labels ...string) {
	m, err := prometheus.NewConstMetric(s.desc, s.typ, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(s.desc, err)
	}
	ch <- m
}
