package metrics

import (
	"reflect"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is the settings of [Metrics] and of a [Collector]. The zero value works.
type Config struct {
	// ConstLabels are added to every metric, such as {"client": "limits"}. Use them to register
	// the metrics of several clients in one registry: give each client its own values of the same
	// names. Default none. New and NewCollector copy the map.
	//
	// Registering fails if a name is empty or a label that a metric has itself, or if a name or
	// value is not UTF-8. Metrics have the labels node, role, kind, lane, result, reason, code,
	// cause and direction, and those of New also outcome and le.
	ConstLabels prometheus.Labels
}

// New returns the metrics of one client. Give their trace to the client and register them, in
// any order:
//
//	m := metrics.Config{ConstLabels: prometheus.Labels{"client": "limits"}}.New()
//	client, err := cluster.Config{Trace: m.Trace()}.New(ctx, addrs)
//	reg.MustRegister(m)
//
// The histograms have classic buckets from 50 µs to 10 s, and native ones for servers that scrape
// them, each at most 10 % wider than the one before. A request costs a few readings of the clock
// and no allocation. Metrics that outlive the client export its last figures.
func (c Config) New() *Metrics {
	m := &Metrics{histograms: newHistograms(c.ConstLabels)}
	m.collector = c.NewCollector(m)
	return m
}

// New is [Config.New] with the zero Config: metrics without labels of your own.
func New() *Metrics { return Config{}.New() }

// NewCollector returns a collector of the source, usually a *cluster.Client. Register it once. A
// collector that outlives the client exports its last figures. Registering fails if the source
// is nil, such as the client of a cluster.Config.New that has failed.
func (c Config) NewCollector(source Source) *Collector {
	if v := reflect.ValueOf(source); v.Kind() == reflect.Pointer && v.IsNil() {
		source = nil
	}
	newSample := func(m metric) sample { return sample{m.desc(c.ConstLabels), m.typ} }
	made := &Collector{source: source, samples: make(map[*metric]sample)}
	for _, m := range clientMetrics {
		made.samples[m] = newSample(*m)
	}
	for i, m := range poolMetrics {
		made.pool[i] = newSample(metric{m.name, m.help, m.typ, poolLabels})
	}
	return made
}

// NewCollector is [Config.NewCollector] with the zero Config: metrics without labels of your own.
func NewCollector(source Source) *Collector { return Config{}.NewCollector(source) }
