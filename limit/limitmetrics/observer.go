package limitmetrics

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
)

// An Observer counts the decisions of limiters and semaphores. Make it with [New],
// give it to them as limit.Config.Observer and places.Config.Observer, and register it.
// It is a prometheus.Collector. All methods are safe for concurrent use.
//
// Its metrics are redislanes_limit_decisions_total, by the limit's name, the outcome
// (limit.Decision.Outcome) and whether the limit is a shadow limit, without requests that only look;
// redislanes_limit_warned_total, those with limit.Decision.Warned, by the limit's name;
// redislanes_limit_hits_total, the sum of the costs that Redis has counted, by the limit's
// name and what became of them (limit.Observer); and the histogram
// redislanes_limit_duration_seconds, of whole calls, by whether they were allowed.
type Observer struct {
	decisions *prometheus.CounterVec
	warned    *prometheus.CounterVec
	hits      *prometheus.CounterVec
	took      *prometheus.HistogramVec
	byResult  [2]prometheus.Observer // of took: denied, allowed

	limits sync.Map // *counters, by name
}

// counters are those of one limit, by outcome and by what became of hits.
type counters struct {
	decisions [2]map[string]prometheus.Counter // in the open and in the shadow
	warned    prometheus.Counter
	hits      map[string]prometheus.Counter
}

// All outcomes and kinds of hits: the counters of a limit begin at 0 together, since a rate needs a value to
// start from.
var (
	outcomes = []string{
		"allowed", "allowed_leased", "denied", "denied_near", "denied_by_other", "not_asked",
		"failed_open", "failed_closed", "canceled", "mistaken",
	}
	kinds = []string{"counted", "returned", "lost", "leased"}
)

var (
	_ limit.Observer       = (*Observer)(nil)
	_ places.Observer      = (*Observer)(nil)
	_ prometheus.Collector = (*Observer)(nil)
)

// New returns an observer. Several limiters may share it. Its histogram has classic buckets from
// 100 µs to 1 s, and native ones. Labels of your own are those of prometheus.WrapRegistererWith.
func New() *Observer {
	o := &Observer{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redislanes_limit_decisions_total",
			Help: "Decisions about requests, by rule and outcome.",
		}, []string{"limit", "outcome", "shadow"}),
		warned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redislanes_limit_warned_total",
			Help: "Decisions about requests with so much of the limit used that its rule warns, by rule.",
		}, []string{"limit"}),
		hits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redislanes_limit_hits_total",
			Help: "Hits in Redis, by rule: counted (all), returned (given back), lost (could not be given back or settled, leased without a reply, or places that were lost) " +
				"and leased (reserved, a part of counted).",
		}, []string{"limit", "hits"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "redislanes_limit_duration_seconds",
			Help:    "Time that calls of Allow, AllowAtMost, Reserve and Acquire took.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.08, 0.1, 0.15, 0.25, 0.5, 1},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		}, []string{"allowed"}),
	}
	for i := range o.byResult { // a rate needs a value to start from
		o.byResult[i] = o.took.WithLabelValues(strconv.FormatBool(i == 1))
	}
	return o
}

// Decided is part of limit.Observer.
func (o *Observer) Decided(took time.Duration, requests []limit.Request, result limit.Result) {
	if o.decisions == nil {
		return
	}
	for i, d := range result.Each() {
		if requests[i].Look {
			continue
		}
		rule := requests[i].Settings() // without a name for a mistake, of no limit
		of := o.of(rule.Name)
		of.decisions[index(rule.Shadow)][d.Outcome()].Inc()
		if d.Warned {
			of.warned.Inc()
		}
	}
	o.byResult[index(result.Allowed)].Observe(took.Seconds())
}

// Hits is part of limit.Observer.
func (o *Observer) Hits(of *limit.Limit, what string, n int64) {
	if o.decisions != nil {
		o.of(of.Rule().Name).hits[what].Add(float64(n))
	}
}

// Acquired is part of places.Observer. A place that was taken counts as a hit.
func (o *Observer) Acquired(took time.Duration, s *places.Semaphore, d places.Decision) {
	if o.decisions == nil {
		return
	}
	of, outcome := o.of(s.Config().Name), "denied"
	switch {
	case errors.Is(d.Err, context.Canceled):
		outcome = "canceled"
	case d.Err != nil && d.Allowed:
		outcome = "failed_open"
	case d.Err != nil:
		outcome = "failed_closed"
	case d.Allowed:
		outcome = "allowed"
		of.hits["counted"].Inc()
	}
	of.decisions[index(false)][outcome].Inc()
	o.byResult[index(d.Allowed)].Observe(took.Seconds())
}

// Ended is part of places.Observer.
func (o *Observer) Ended(s *places.Semaphore, lost bool) {
	what := "returned"
	if lost {
		what = "lost"
	}
	if o.decisions != nil {
		o.of(s.Config().Name).hits[what].Inc()
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// of returns the counters of the limit. Their labels are looked up once.
func (o *Observer) of(name string) *counters {
	if known, ok := o.limits.Load(name); ok {
		return known.(*counters)
	}
	made := &counters{warned: o.warned.WithLabelValues(name), hits: make(map[string]prometheus.Counter)}
	for _, what := range kinds {
		made.hits[what] = o.hits.WithLabelValues(name, what)
	}
	for shadow := range made.decisions {
		made.decisions[shadow] = make(map[string]prometheus.Counter)
		for _, outcome := range outcomes {
			made.decisions[shadow][outcome] = o.decisions.WithLabelValues(name, outcome, strconv.FormatBool(shadow == 1))
		}
	}
	known, _ := o.limits.LoadOrStore(name, made)
	return known.(*counters)
}

var errZero = errors.New("limitmetrics: the Observer is a zero value: make it with limitmetrics.New")

// Describe is part of prometheus.Collector. Registering a zero Observer fails.
func (o *Observer) Describe(ch chan<- *prometheus.Desc) {
	if o.decisions == nil {
		ch <- prometheus.NewInvalidDesc(errZero)
		return
	}
	o.decisions.Describe(ch)
	o.warned.Describe(ch)
	o.hits.Describe(ch)
	o.took.Describe(ch)
}

// Collect is part of prometheus.Collector.
func (o *Observer) Collect(ch chan<- prometheus.Metric) {
	if o.decisions == nil {
		return
	}
	o.decisions.Collect(ch)
	o.warned.Collect(ch)
	o.hits.Collect(ch)
	o.took.Collect(ch)
}
