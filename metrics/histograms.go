package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
)

// histograms are what requests took, what each node took to answer, and how long
// requests waited for connections.
type histograms struct {
	requests [len(outcomes)]*recorder

	pools atomic.Pointer[map[*redislanes.PoolInfo]*series] // copied to be changed: each group reads it

	mu    sync.Mutex // guards what follows, and changes of pools
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
var outcomes = [...]string{"ok", "error", "not_sent", "unknown"}

// What requests add beside their times. Those with outcomes[0] have one command, which succeeded, and one trip
// more than they add: most have no others.
const (
	succeeded = iota // commands
	failed           // commands
	trips
)

func newHistograms() *histograms {
	h := &histograms{nodes: make(map[poolValues]*series)}
	h.pools.Store(&map[*redislanes.PoolInfo]*series{})
	for i := range h.requests {
		h.requests[i] = newRecorder()
	}
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
	outcome, counted := slices.Index(outcomes[:], r.Outcome), 0
	if s.Dedicated || outcome < 0 {
		return
	}
	if outcome == 0 {
		counted = 1
	}
	p := h.requests[outcome].observe(r.Took)
	p.add(succeeded, r.Commands-r.Failed-counted)
	p.add(failed, r.Failed)
	p.add(trips, r.Trips-counted)
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
	return (*h.pools.Load())[p]
}

// change changes a copy of the pools. The caller holds mu.
func (h *histograms) change(by func(pools map[*redislanes.PoolInfo]*series)) {
	pools := maps.Clone(*h.pools.Load())
	by(pools)
	h.pools.Store(&pools)
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
	h.change(func(pools map[*redislanes.PoolInfo]*series) { pools[p] = of })
}

// poolClosed ends the series, unless the node has come back meanwhile.
func (h *histograms) poolClosed(p *redislanes.PoolInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(p)
	if of == nil {
		return
	}
	h.change(func(pools map[*redislanes.PoolInfo]*series) { delete(pools, p) })
	if of.pools--; of.pools == 0 {
		delete(h.nodes, of.labels)
	}
}

// The descriptions of what recorders keep.
var (
	requestDesc = requestMetric.desc()
	waitDesc    = waitMetric.desc()
	tripDesc    = tripTimeMetric.desc()
	commands    = sample{commandsMetric.desc(), commandsMetric.typ}
	allTrips    = sample{tripsMetric.desc(), tripsMetric.typ}
)

func (h *histograms) describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{requestDesc, waitDesc, tripDesc, commands.desc, allTrips.desc} {
		ch <- desc
	}
}

func (h *histograms) collect(ch chan<- prometheus.Metric) {
	var sums [len(part{}.extras)]uint64
	for outcome, took := range h.requests {
		r := took.read()
		ch <- r.metric(requestDesc, outcomes[outcome])
		if outcome == 0 {
			r.extras[succeeded] += r.total
			r.extras[trips] += r.total
		}
		for extra, n := range r.extras {
			sums[extra] += n
		}
	}
	commands.send(ch, float64(sums[succeeded]), "success")
	commands.send(ch, float64(sums[failed]), "error")
	allTrips.send(ch, float64(sums[trips]))
	h.mu.Lock()
	nodes := slices.Collect(maps.Values(h.nodes))
	h.mu.Unlock()
	for _, of := range nodes {
		ch <- of.waits.read().metric(waitDesc, of.labels[:]...)
		ch <- of.trips.read().metric(tripDesc, of.labels[:]...)
	}
}
