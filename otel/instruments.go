package redisotel

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
)

// seconds are the bounds that the conventions advise for durations, with smaller ones
// before them: most commands take less than the first, a millisecond. Views may have
// others.
var seconds = metric.WithExplicitBucketBoundaries(0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)

// instruments are what an Observer records with.
type instruments struct {
	operations dbconv.ClientOperationDuration
	dials      dbconv.ClientConnectionCreateTime
	waits      dbconv.ClientConnectionWaitTime

	groups     metric.Float64Histogram
	dialErrors metric.Int64Counter
	closed     metric.Int64Counter
	joined     metric.Int64Counter
	left       metric.Int64Counter
	moved      metric.Int64Counter

	observed observables
}

func (i *instruments) make(m metric.Meter) error {
	var failed [9]error
	i.operations, failed[0] = dbconv.NewClientOperationDuration(m, seconds)
	i.dials, failed[1] = dbconv.NewClientConnectionCreateTime(m, seconds)
	i.waits, failed[2] = dbconv.NewClientConnectionWaitTime(m, seconds)
	i.groups, failed[3] = m.Float64Histogram("redislanes.group.duration", seconds, metric.WithUnit("s"),
		metric.WithDescription("Time from when a group of commands was sent to a node, or had to wait for a connection to it, to the last of its replies."))
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		failed[4] = errors.Join(failed[4], err)
		return c
	}
	i.dialErrors = counter("redislanes.connection.errors", "{attempt}", "Attempts to connect that failed.")
	i.closed = counter("redislanes.connection.closed", "{connection}", "Connections closed, by reason.")
	i.joined = counter("redislanes.topology.joined", "{node}", "Nodes that came into the map of the slots, those of the first map included.")
	i.left = counter("redislanes.topology.left", "{node}", "Nodes that left the map of the slots.")
	i.moved = counter("redislanes.topology.moved", "{slot}", "Slots that got another node, those of the first map included.")
	failed[5] = i.observed.make(m)
	return errors.Join(failed[:]...)
}
