package metrics

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// Metrics are all metrics of one client: the figures of [NewCollector], and histograms of the
// time of requests, of the answers of each node, and of the waits for a connection. It is a
// prometheus.Collector. Make it with [New]. All methods are safe for concurrent use.
type Metrics struct {
	histograms *histograms
	collector  *collector
	stats      atomic.Pointer[func() redislanes.Stats] // nil before there is a client
}

var _ prometheus.Collector = (*Metrics)(nil)

var errZero = errors.New("metrics: the Metrics are a zero value: make them with metrics.New")

// Trace returns the functions that cluster.Config.Trace takes. cluster.Config.New fails for a
// second client with the same trace: each client needs metrics of its own.
func (m *Metrics) Trace() *redislanes.Trace {
	if m.collector == nil {
		return &redislanes.Trace{Stats: func(func() redislanes.Stats) error { return errZero }}
	}
	t := m.histograms.trace()
	t.Stats = m.readStats
	return t
}

func (m *Metrics) readStats(stats func() redislanes.Stats) error {
	if !m.stats.CompareAndSwap(nil, &stats) {
		return errors.New("metrics: these Metrics already serve another client: make metrics for each client, and register them with prometheus.WrapRegistererWith to tell them apart")
	}
	return nil
}

// statsOf reads the statistics of a client, or the zero value before there is one.
type statsOf struct{ of *Metrics }

func (m statsOf) Stats() redislanes.Stats {
	if stats := m.of.stats.Load(); stats != nil {
		return (*stats)()
	}
	return redislanes.Stats{}
}

// Describe is part of prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	if m.collector == nil {
		ch <- prometheus.NewInvalidDesc(errZero)
		return
	}
	m.histograms.describe(ch)
	m.collector.Describe(ch)
}

// Collect is part of prometheus.Collector. Before there is a client, there are no
// figures of its pools and its map of the slots.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	if m.collector == nil {
		return
	}
	m.histograms.collect(ch)
	if m.stats.Load() != nil {
		m.collector.Collect(ch)
	}
}
