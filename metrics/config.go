package metrics

import (
	"reflect"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// New returns the metrics of one client. Give their trace to the client and register them, in
// any order:
//
//	m := metrics.New()
//	client, err := cluster.Config{Trace: m.Trace()}.New(ctx, addrs)
//	prometheus.MustRegister(m)
//
// For the metrics of several clients in one registry, give each client labels of its own:
//
//	reg := prometheus.WrapRegistererWith(prometheus.Labels{"client": "limits"}, prometheus.DefaultRegisterer)
//	reg.MustRegister(m)
//
// The histograms have classic buckets from 50 µs to 10 s, and native ones for servers that scrape
// them, each at most 10 % wider than the one before. A request costs a few readings of the clock
// and no allocation. Metrics that outlive the client export its last figures.
func New() *Metrics {
	m := &Metrics{histograms: newHistograms()}
	m.collector = newCollector(statsOf{m})
	return m
}

// NewCollector returns a collector of the source, usually a *cluster.Client. It has only gauges and counters,
// and its methods are safe for concurrent use. Register it once. A
// collector that outlives the client exports its last figures. Registering fails if the source
// is nil, such as the client of a cluster.Config.New that has failed.
func NewCollector(source interface{ Stats() redislanes.Stats }) prometheus.Collector {
	return newCollector(source)
}

func newCollector(source interface{ Stats() redislanes.Stats }) *collector {
	if v := reflect.ValueOf(source); v.Kind() == reflect.Pointer && v.IsNil() {
		source = nil
	}
	newSample := func(m metric) sample { return sample{m.desc(), m.typ} }
	made := &collector{source: source, samples: make(map[*metric]sample)}
	for _, m := range clientMetrics {
		made.samples[m] = newSample(*m)
	}
	for i, m := range poolMetrics {
		made.pool[i] = newSample(metric{m.name, m.help, m.typ, poolLabels})
	}
	return made
}
