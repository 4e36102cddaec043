package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes/cluster"
)

// An Observer keeps histograms of what a client's requests take, of what each node
// takes to answer, and of how long requests wait for connections. Make it with
// [NewObserver], give it to one client as cluster.Config.Observer, and register it;
// it is a prometheus.Collector. To observe costs a request a few readings of the clock
// and no allocation. All methods are safe for concurrent use. [Metrics] has an Observer
// and a [Collector] in one.
type Observer struct {
	invalid  error // why it cannot be registered; then it keeps nothing
	requests *prometheus.HistogramVec
	waits    *prometheus.HistogramVec
	nodes    *prometheus.HistogramVec // what trips to them took
	commands *prometheus.CounterVec
	trips    prometheus.Counter

	// What a request adds to, looked up once.
	took              [cluster.Outcomes]prometheus.Observer
	succeeded, failed prometheus.Counter

	mu    sync.Mutex         // guards what follows, and the making and deleting of waits and nodes
	pools map[waitLabels]int // how many pools have these labels
}

// waitLabels are the values of poolLabels.
type waitLabels [3]string

var (
	_ cluster.Observer     = (*Observer)(nil)
	_ prometheus.Collector = (*Observer)(nil)
)

// NewObserver returns an observer. Its histograms have the usual buckets, from
// 50 µs to 10 s, and, for servers that scrape them, native ones, each at most
// 10 % wider than the one before. The options are those of [NewCollector], and
// must have the same label names if both are in one registry; the labels
// outcome, result and le cannot be used here.
func NewObserver(opts ...Option) *Observer {
	var from options
	for _, opt := range opts {
		opt(&from)
	}
	o := &Observer{pools: make(map[waitLabels]int)}
	if o.invalid = usable(from.constLabels); o.invalid != nil {
		return o
	}
	o.requests = prometheus.NewHistogramVec(requestMetric.histogram(from.constLabels), requestMetric.labels)
	o.waits = prometheus.NewHistogramVec(waitMetric.histogram(from.constLabels), waitMetric.labels)
	o.nodes = prometheus.NewHistogramVec(tripTimeMetric.histogram(from.constLabels), tripTimeMetric.labels)
	o.commands = prometheus.NewCounterVec(commandsMetric.counter(from.constLabels), commandsMetric.labels)
	o.trips = prometheus.NewCounter(tripsMetric.counter(from.constLabels))
	for i := range o.took { // a rate needs a value to start from
		o.took[i] = o.requests.WithLabelValues(cluster.Outcome(i).String())
	}
	o.succeeded, o.failed = o.commands.WithLabelValues("success"), o.commands.WithLabelValues("error")
	return o
}

// usable finds labels at which client_golang would panic, or refuse later.
func usable(labels prometheus.Labels) error {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		taken := slices.Contains(observerLabels, name)
		if taken || name == "" || !utf8.ValidString(name) || !utf8.ValidString(labels[name]) {
			return fmt.Errorf("metrics: WithConstLabels: %q = %q: taken by a metric, empty, or not UTF-8", name, labels[name])
		}
	}
	return nil
}

// Request is part of cluster.Observer.
func (o *Observer) Request(r cluster.RequestInfo) {
	if o.invalid != nil || int(r.Outcome) >= len(o.took) {
		return
	}
	o.took[r.Outcome].Observe(r.Took.Seconds())
	add(o.succeeded, r.Commands-r.Failed)
	add(o.failed, r.Failed)
	add(o.trips, r.Trips)
}

// add adds n; a counter panics if it is told to go down.
func add(c prometheus.Counter, n int) {
	if n > 0 {
		c.Add(float64(n))
	}
}

// Pool is part of cluster.Observer.
func (o *Observer) Pool(p cluster.PoolInfo) cluster.PoolObserver {
	if o.invalid != nil {
		return nil
	}
	labels := waitLabels{strings.ToValidUTF8(p.Addr, "\uFFFD"), p.Role, p.Kind}
	o.mu.Lock()
	defer o.mu.Unlock()
	waits, err := o.waits.GetMetricWithLabelValues(labels[:]...)
	if err != nil {
		return nil
	}
	trips, err := o.nodes.GetMetricWithLabelValues(labels[:]...)
	if err != nil {
		return nil
	}
	o.pools[labels]++
	return &poolObserver{waits: waits, trips: trips, of: o, labels: labels}
}

// A poolObserver has the histograms of one pool.
type poolObserver struct {
	waits, trips prometheus.Observer
	of           *Observer
	labels       waitLabels
}

var _ cluster.GroupObserver = (*poolObserver)(nil)

// Waited is part of cluster.PoolObserver.
func (p *poolObserver) Waited(wait time.Duration) { p.waits.Observe(wait.Seconds()) }

// BeginGroup is part of cluster.GroupObserver.
func (p *poolObserver) BeginGroup(ctx context.Context, _ cluster.GroupStart) context.Context {
	return ctx
}

// EndGroup is part of cluster.GroupObserver.
func (p *poolObserver) EndGroup(_ context.Context, s cluster.GroupStart, g cluster.GroupInfo) {
	if !s.Lent { // a command may block for as long as it likes
		p.trips.Observe(g.Took.Seconds())
	}
}

// Left ends the series, unless the node has come back meanwhile; part of
// cluster.PoolObserver.
func (p *poolObserver) Left() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.pools[p.labels]--; p.of.pools[p.labels] <= 0 {
		delete(p.of.pools, p.labels)
		p.of.waits.DeleteLabelValues(p.labels[:]...)
		p.of.nodes.DeleteLabelValues(p.labels[:]...)
	}
}

// Describe is part of prometheus.Collector.
func (o *Observer) Describe(ch chan<- *prometheus.Desc) {
	if o.invalid != nil {
		ch <- prometheus.NewInvalidDesc(o.invalid)
		return
	}
	o.requests.Describe(ch)
	o.waits.Describe(ch)
	o.nodes.Describe(ch)
	o.commands.Describe(ch)
	o.trips.Describe(ch)
}

// Collect is part of prometheus.Collector.
func (o *Observer) Collect(ch chan<- prometheus.Metric) {
	if o.invalid != nil {
		return
	}
	o.requests.Collect(ch)
	o.waits.Collect(ch)
	o.nodes.Collect(ch)
	o.commands.Collect(ch)
	o.trips.Collect(ch)
}
