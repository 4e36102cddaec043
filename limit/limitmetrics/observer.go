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
	decisions, warned, hits *prometheus.CounterVec

	all    []prometheus.Collector
	took   map[bool]prometheus.Observer // by whether the call was allowed
	limits sync.Map                     // *counters, by name
}

// counters are those of one limit.
type counters struct {
	decisions map[decision]prometheus.Counter
	warned    prometheus.Counter
	hits      map[string]prometheus.Counter // by what became of them
}

type decision struct {
	outcome string
	shadow  bool
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
	}
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "redislanes_limit_duration_seconds",
		Help:    "Time that calls of Allow, AllowAtMost, Reserve and Acquire took.",
		Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.08, 0.1, 0.15, 0.25, 0.5, 1},

		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	}, []string{"allowed"})
	o.took = map[bool]prometheus.Observer{false: took.WithLabelValues("false"), true: took.WithLabelValues("true")}
	o.all = []prometheus.Collector{o.decisions, o.warned, o.hits, took}
	return o
}

// Decided is part of limit.Observer.
func (o *Observer) Decided(took time.Duration, requests []limit.Request, result limit.Result) {
	for i, d := range result.Each() {
		if requests[i].Look {
			continue
		}
		outcome, rule := d.Outcome(), requests[i].Rule
		if requests[i].Limit != nil || outcome == "mistaken" {
			rule = requests[i].Settings() // without a name if the mistake is that there is no limit
		}
		of := o.of(rule.Name)
		of.decisions[decision{outcome, rule.Shadow}].Inc()
		if d.Warned {
			of.warned.Inc()
		}
	}
	o.took[result.Allowed].Observe(took.Seconds())
}

// Hits is part of limit.Observer.
func (o *Observer) Hits(of *limit.Limit, what string, n int64) {
	o.of(of.Rule().Name).hits[what].Add(float64(n))
}

// Acquired is part of places.Observer. A place that was taken counts as a hit.
func (o *Observer) Acquired(took time.Duration, s *places.Semaphore, d places.Decision) {
	of, outcome := o.of(s.Config().Name), limit.Decision{Allowed: d.Allowed, RetryAfter: d.RetryAfter, Err: d.Err}.Outcome()
	switch {
	case errors.Is(d.Err, context.Canceled):
		outcome = "canceled"
	case outcome == "allowed":
		of.hits["counted"].Inc()
	}
	of.decisions[decision{outcome, false}].Inc()
	o.took[d.Allowed].Observe(took.Seconds())
}

// Ended is part of places.Observer.
func (o *Observer) Ended(s *places.Semaphore, lost bool) {
	what := "returned"
	if lost {
		what = "lost"
	}
	o.of(s.Config().Name).hits[what].Inc()
}

// of returns the counters of the limit. Their labels are looked up once.
func (o *Observer) of(name string) *counters {
	if known, ok := o.limits.Load(name); ok {
		return known.(*counters)
	}
	made := &counters{make(map[decision]prometheus.Counter), o.warned.WithLabelValues(name), make(map[string]prometheus.Counter)}
	for _, what := range kinds {
		made.hits[what] = o.hits.WithLabelValues(name, what)
	}
	for _, outcome := range outcomes {
		for _, shadow := range []bool{false, true} {
			made.decisions[decision{outcome, shadow}] = o.decisions.WithLabelValues(name, outcome, strconv.FormatBool(shadow))
		}
	}
	o.limits.Store(name, made) // the counters of another call that has made some are the same
	return made
}

// Describe is part of prometheus.Collector. Registering a zero Observer fails.
func (o *Observer) Describe(ch chan<- *prometheus.Desc) {
	if o.all == nil {
		ch <- prometheus.NewInvalidDesc(errors.New("limitmetrics: the Observer is a zero value: make it with limitmetrics.New"))
	}
	for _, c := range o.all {
		c.Describe(ch)
	}
}

// Collect is part of prometheus.Collector.
func (o *Observer) Collect(ch chan<- prometheus.Metric) {
	for _, c := range o.all {
		c.Collect(ch)
	}
}
