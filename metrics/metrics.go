package metrics

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// Metrics are all metrics of one client: histograms of what its requests take, of what
// each node takes to answer and of how long requests wait for connections, and the
// figures of a [Collector]. It is a prometheus.Collector. Make it with [New]. All methods
// are safe for concurrent use.
type Metrics struct {
	histograms *histograms
	collector  *Collector
	stats      atomic.Pointer[func() redislanes.Stats] // nil before there is a client
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns the metrics of one client. Give their trace to it, and register them,
// before that or after it:
//
//	m := metrics.New()
//	client, err := cluster.Config{Trace: m.Trace()}.New(ctx, addrs)
//	reg.MustRegister(m)
//
// They may outlive the client, whose last figures they then export. The histograms have
// the usual buckets, from 50 µs to 10 s, and, for servers that scrape them, native ones,
// each at most 10 % wider than the one before. To tell them of a request costs a few
// readings of the clock and no allocation.
//
// The labels that [NewCollector] refuses make registering fail, and so do outcome, result
// and le.
func New(opts ...Option) *Metrics {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	m := &Metrics{histograms: newHistograms(o.constLabels)}
	m.collector = NewCollector(m, opts...)
	return m
}

// Trace returns what tells the metrics of their client, for cluster.Config.Trace. With a
// second client, cluster.Config.New fails: each client needs metrics of its own.
func (m *Metrics) Trace() *redislanes.Trace {
	t := m.histograms.trace()
	t.Stats = m.readStats
	return t
}

func (m *Metrics) readStats(stats func() redislanes.Stats) error {
	if !m.stats.CompareAndSwap(nil, &stats) {
		return errors.New("metrics: the Metrics are those of another client: give each client its own, with metrics.WithConstLabels to tell them apart")
	}
	return nil
}

// Stats returns those of the client, the zero value before there is one; part of
// [Source].
func (m *Metrics) Stats() redislanes.Stats {
	if stats := m.stats.Load(); stats != nil {
		return (*stats)()
	}
	return redislanes.Stats{}
}

// Describe is part of prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.histograms.describe(ch)
	m.collector.Describe(ch)
}

// Collect is part of prometheus.Collector. Before there is a client, there are no
// figures of its pools and its map of the slots.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.histograms.collect(ch)
	if m.stats.Load() != nil {
		m.collector.Collect(ch)
	}
}
