package redisotel

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"

	"github.com/redislanes/redislanes"
)

// observables are what is read from the client's statistics when metrics are
// collected.
type observables struct {
	meter metric.Meter

	count   dbconv.ClientConnectionCountObservable
	max     dbconv.ClientConnectionMaxObservable
	idleMax dbconv.ClientConnectionIdleMaxObservable
	pending dbconv.ClientConnectionPendingRequestsObservable

	refused   metric.Int64ObservableCounter
	redirects metric.Int64ObservableCounter
	retries   metric.Int64ObservableCounter
	slots     metric.Int64ObservableUpDownCounter
	down      metric.Int64ObservableUpDownCounter
}

func (o *observables) make(m metric.Meter) error {
	o.meter = m
	var failed [9]error
	o.count, failed[0] = dbconv.NewClientConnectionCountObservable(m)
	o.max, failed[1] = dbconv.NewClientConnectionMaxObservable(m)
	o.idleMax, failed[2] = dbconv.NewClientConnectionIdleMaxObservable(m)
	o.pending, failed[3] = dbconv.NewClientConnectionPendingRequestsObservable(m)
	counter := func(err *error, name, unit, what string) metric.Int64ObservableCounter {
		c, failed := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		*err = failed
		return c
	}
	o.refused = counter(&failed[4], "redislanes.connection.exhausted", "{request}", "Requests for a connection that were refused since the pool and its queue were full.")
	o.redirects = counter(&failed[5], "redislanes.redirects", "{redirect}", "Redirects that were followed.")
	o.retries = counter(&failed[6], "redislanes.retries", "{command}", "Commands sent again, by why.")
	o.slots, failed[7] = m.Int64ObservableUpDownCounter("redislanes.slots.owned", metric.WithUnit("{slot}"),
		metric.WithDescription("Slots that have a node; 16384 in a healthy cluster."))
	o.down, failed[8] = m.Int64ObservableUpDownCounter("redislanes.node.down", metric.WithUnit("{node}"),
		metric.WithDescription("1 while a node is down or suspect. Once RetryWindow has passed, its commands fail at once."))
	return errors.Join(failed[:]...)
}

func (o *observables) all() []metric.Observable {
	return []metric.Observable{o.count.Inst(), o.max.Inst(), o.idleMax.Inst(), o.pending.Inst(),
		o.refused, o.redirects, o.retries, o.slots, o.down}
}

// statistics is where the observables are read from.
type statistics struct {
	mu           sync.Mutex // guards what follows
	registration metric.Registration
	used         bool
}

func (o *Observer) readStats(stats func() redislanes.Stats) error {
	o.stats.mu.Lock()
	defer o.stats.mu.Unlock()
	if o.instruments.observed.meter == nil {
		return errors.New("redisotel: the Observer is a zero value: make it with redisotel.Config.New")
	}
	if o.stats.used {
		return errors.New("redisotel: this Observer already serves another client: make an Observer for each client, with Config.Attributes to tell them apart")
	}
	o.stats.used = true
	var err error
	o.stats.registration, err = o.instruments.observed.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		o.observe(to, stats())
		return nil
	}, o.instruments.observed.all()...)
	return err
}

// Close stops reporting the client's statistics. Call it after closing the client, if the
// MeterProvider stays in use.
func (o *Observer) Close() error {
	o.stats.mu.Lock()
	defer o.stats.mu.Unlock()
	if o.stats.registration == nil {
		return nil
	}
	err := o.stats.registration.Unregister()
	o.stats.registration = nil
	return err
}

func (o *Observer) observe(to metric.Observer, s redislanes.Stats) {
	m := &o.instruments.observed
	common := metric.WithAttributeSet(o.common)
	to.ObserveInt64(m.slots, int64(s.Slots), common)
	each := func(c metric.Int64ObservableCounter, n uint64, a attribute.KeyValue) {
		to.ObserveInt64(c, int64(n), common, metric.WithAttributes(a))
	}
	each(m.redirects, s.Moved, kindKey.String("moved"))
	each(m.redirects, s.Ask, kindKey.String("ask"))
	each(m.retries, s.Refused, reasonKey.String("refused"))
	each(m.retries, s.NotSent, reasonKey.String("not_sent"))
	each(m.retries, s.Repeated, reasonKey.String("repeated"))
	for i := range s.Nodes {
		o.observePool(to, s.Nodes[i].Role, &s.Nodes[i].Pool)
	}
}

// observePool tells of one pool. In a laned pool, dedicated connections and lanes for slow
// commands are counted with its lanes.
func (o *Observer) observePool(to metric.Observer, role string, s *redislanes.PoolStats) {
	m := &o.instruments.observed
	set := metric.WithAttributeSet(attribute.NewSet(o.poolAttrs(s.Addr, role)...))
	to.ObserveInt64(m.count.Inst(), int64(s.InUse), set, metric.WithAttributes(m.count.AttrClientConnectionState(dbconv.ClientConnectionStateUsed)))
	to.ObserveInt64(m.count.Inst(), int64(s.Open-s.InUse), set, metric.WithAttributes(m.count.AttrClientConnectionState(dbconv.ClientConnectionStateIdle)))
	to.ObserveInt64(m.max.Inst(), int64(s.Size), set)
	to.ObserveInt64(m.idleMax.Inst(), int64(s.Size), set)
	to.ObserveInt64(m.pending.Inst(), int64(s.Waiters), set)
	to.ObserveInt64(m.refused, int64(s.Exhausted), set)
	down := int64(0)
	if s.Down {
		down = 1
	}
	to.ObserveInt64(m.down, down, set)
}
