package metrics

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// histograms are what requests took, what each node took to answer, and how long
// requests waited for connections.
type histograms struct {
	requests *prometheus.HistogramVec
	waits    *prometheus.HistogramVec
	nodes    *prometheus.HistogramVec // what trips to them took
	commands *prometheus.CounterVec
	trips    prometheus.Counter

	// What a request adds to, looked up once.
	took              map[string]prometheus.Observer // by outcome
	succeeded, failed prometheus.Counter

	pools sync.Map // *series by *redislanes.PoolInfo

	mu   sync.Mutex         // guards what follows, and the making and deleting of waits and nodes
	open map[waitLabels]int // how many pools have these labels
}

// waitLabels are the values of poolLabels.
type waitLabels [3]string

// series is what one pool adds to. Its labels are looked up once.
type series struct {
	waits, trips prometheus.Observer
	labels       waitLabels
}

func newHistograms() *histograms {
	h := &histograms{open: make(map[waitLabels]int), took: make(map[string]prometheus.Observer)}
	h.requests = prometheus.NewHistogramVec(requestMetric.histogram(), requestMetric.labels)
	h.waits = prometheus.NewHistogramVec(waitMetric.histogram(), waitMetric.labels)
	h.nodes = prometheus.NewHistogramVec(tripTimeMetric.histogram(), tripTimeMetric.labels)
	h.commands = prometheus.NewCounterVec(commandsMetric.counter(), commandsMetric.labels)
	h.trips = prometheus.NewCounter(tripsMetric.counter())
	for _, outcome := range []string{"ok", "error", "not_sent", "unknown"} { // a rate needs a value to start from
		h.took[outcome] = h.requests.WithLabelValues(outcome)
	}
	h.succeeded, h.failed = h.commands.WithLabelValues("success"), h.commands.WithLabelValues("error")
	return h
}

func (h *histograms) trace() *redislanes.Trace {
	return &redislanes.Trace{
		EndRequest: h.endRequest, EndGroup: h.endGroup, PoolOpened: h.poolOpened, PoolClosed: h.poolClosed, Waited: h.waited,
	}
}

// endRequest leaves out requests with a connection to themselves: a command may block
// for as long as it likes.
func (h *histograms) endRequest(_ context.Context, s redislanes.RequestStart, r redislanes.RequestInfo) {
	took := h.took[r.Outcome]
	if s.Dedicated || took == nil {
		return
	}
	took.Observe(r.Took.Seconds())
	add(h.succeeded, r.Commands-r.Failed)
	add(h.failed, r.Failed)
	add(h.trips, r.Trips)
}

// add adds n; a counter panics if it is told to go down.
func add(c prometheus.Counter, n int) {
	if n > 0 {
		c.Add(float64(n))
	}
}

func (h *histograms) endGroup(_ context.Context, s redislanes.GroupStart, g redislanes.GroupInfo) {
	if of := h.of(s.Pool); of != nil {
		of.trips.Observe(g.Took.Seconds())
	}
}

func (h *histograms) waited(p *redislanes.PoolInfo, took time.Duration) {
	if of := h.of(p); of != nil {
		of.waits.Observe(took.Seconds())
	}
}

// of returns the series of a pool, nil if it is closed.
func (h *histograms) of(p *redislanes.PoolInfo) *series {
	of, _ := h.pools.Load(p)
	known, _ := of.(*series)
	return known
}

func (h *histograms) poolOpened(p *redislanes.PoolInfo) {
	labels := waitLabels{strings.ToValidUTF8(p.Addr, "\uFFFD"), p.Role, p.Kind}
	h.mu.Lock()
	defer h.mu.Unlock()
	waits, err := h.waits.GetMetricWithLabelValues(labels[:]...)
	if err != nil {
		return
	}
	trips, err := h.nodes.GetMetricWithLabelValues(labels[:]...)
	if err != nil {
		return
	}
	h.open[labels]++
	h.pools.Store(p, &series{waits: waits, trips: trips, labels: labels})
}

// poolClosed ends the series, unless the node has come back meanwhile.
func (h *histograms) poolClosed(p *redislanes.PoolInfo) {
	of := h.of(p)
	if of == nil {
		return
	}
	h.pools.Delete(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[of.labels]--; h.open[of.labels] <= 0 {
		delete(h.open, of.labels)
		h.waits.DeleteLabelValues(of.labels[:]...)
		h.nodes.DeleteLabelValues(of.labels[:]...)
	}
}

func (h *histograms) describe(ch chan<- *prometheus.Desc) {
	for _, c := range h.all() {
		c.Describe(ch)
	}
}

func (h *histograms) collect(ch chan<- prometheus.Metric) {
	for _, c := range h.all() {
		c.Collect(ch)
	}
}

func (h *histograms) all() [5]prometheus.Collector {
	return [...]prometheus.Collector{h.requests, h.waits, h.nodes, h.commands, h.trips}
}
