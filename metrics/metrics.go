package metrics

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// Metrics is an [Observer] and the [Collector] of the client that it was given to, so
// that all metrics of a client are one registration. Make it with [New].
type Metrics struct {
	observer  *Observer
	collector *Collector
	stats     atomic.Pointer[func() redislanes.Stats] // nil before there is a client
}

var (
	_ cluster.StatsObserver = (*Metrics)(nil)
	_ prometheus.Collector  = (*Metrics)(nil)
)

// New returns the metrics of one client. Give them to it as cluster.Config.Observer
// and register them, before that or after it:
//
//	m := metrics.New()
//	client, err := cluster.Config{Observer: m}.New(ctx, addrs)
//	reg.MustRegister(m)
//
// They may outlive the client, whose last figures they then export. The labels that
// [NewCollector] and [NewObserver] refuse make registering fail.
func New(opts ...Option) *Metrics {
	m := &Metrics{observer: NewObserver(opts...)}
	m.collector = NewCollector(m, opts...)
	return m
}

// Pool is part of cluster.Observer.
func (m *Metrics) Pool(p cluster.PoolInfo) cluster.PoolObserver { return m.observer.Pool(p) }

// Request is part of cluster.Observer.
func (m *Metrics) Request(r cluster.RequestInfo) { m.observer.Request(r) }

// ReadStats is part of cluster.StatsObserver.
func (m *Metrics) ReadStats(stats func() redislanes.Stats) error {
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
	m.observer.Describe(ch)
	m.collector.Describe(ch)
}

// Collect is part of prometheus.Collector. Before there is a client, there are no
// figures of its pools and its map of the slots.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.observer.Collect(ch)
	if m.stats.Load() != nil {
		m.collector.Collect(ch)
	}
}
