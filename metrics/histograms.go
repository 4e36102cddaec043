package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// histograms are what requests took, what each node took to answer, and how long
// requests waited for connections.
type histograms struct {
	requests          map[string]*recorder // by outcome
	commands          *prometheus.CounterVec
	succeeded, failed prometheus.Counter // of commands
	trips             prometheus.Counter

	pools sync.Map // *series by *redislanes.PoolInfo

	mu    sync.Mutex // guards what follows
	nodes map[poolValues]*series
}

// poolValues are the values of poolLabels.
type poolValues [3]string

// series is what the pools with the same labels add to.
type series struct {
	waits, trips *recorder
	labels       poolValues
	pools        int // how many there are; guarded by histograms.mu
}

// The outcomes of requests. All are exported from the first scrape on: a rate needs a value to start from.
var outcomes = []string{"ok", "error", "not_sent", "unknown"}

func newHistograms() *histograms {
	h := &histograms{requests: make(map[string]*recorder), nodes: make(map[poolValues]*series)}
	for _, outcome := range outcomes {
		h.requests[outcome] = newRecorder()
	}
	h.commands = prometheus.NewCounterVec(commandsMetric.counter(), commandsMetric.labels)
	h.succeeded, h.failed = h.commands.WithLabelValues("success"), h.commands.WithLabelValues("error")
	h.trips = prometheus.NewCounter(tripsMetric.counter())
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
	took := h.requests[r.Outcome]
	if s.Dedicated || took == nil {
		return
	}
	took.observe(r.Took)
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
		of.trips.observe(g.Took)
	}
}

func (h *histograms) waited(p *redislanes.PoolInfo, took time.Duration) {
	if of := h.of(p); of != nil {
		of.waits.observe(took)
	}
}

// of returns the series of a pool, nil if it is closed.
func (h *histograms) of(p *redislanes.PoolInfo) *series {
	of, _ := h.pools.Load(p)
	known, _ := of.(*series)
	return known
}

func (h *histograms) poolOpened(p *redislanes.PoolInfo) {
	labels := poolValues{strings.ToValidUTF8(p.Addr, "\uFFFD"), p.Role, p.Kind}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.nodes[labels]
	if of == nil {
		of = &series{waits: newRecorder(), trips: newRecorder(), labels: labels}
		h.nodes[labels] = of
	}
	of.pools++
	h.pools.Store(p, of)
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
	if of.pools--; of.pools == 0 {
		delete(h.nodes, of.labels)
	}
}

// The descriptions of what recorders keep.
var (
	requestDesc = requestMetric.desc()
	waitDesc    = waitMetric.desc()
	tripDesc    = tripTimeMetric.desc()
)

func (h *histograms) describe(ch chan<- *prometheus.Desc) {
	ch <- requestDesc
	ch <- waitDesc
	ch <- tripDesc
	h.commands.Describe(ch)
	h.trips.Describe(ch)
}

func (h *histograms) collect(ch chan<- prometheus.Metric) {
	for outcome, took := range h.requests {
		ch <- took.metric(requestDesc, outcome)
	}
	h.commands.Collect(ch)
	h.trips.Collect(ch)
	h.mu.Lock()
	nodes := slices.Collect(maps.Values(h.nodes))
	h.mu.Unlock()
	for _, of := range nodes {
		ch <- of.waits.metric(waitDesc, of.labels[:]...)
		ch <- of.trips.metric(tripDesc, of.labels[:]...)
	}
}
