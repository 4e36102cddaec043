package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

const prefix = "redislanes_"

// A metric is a name without prefix, what it means, and its labels.
type metric struct {
	name   string
	help   string
	typ    prometheus.ValueType
	labels []string
}

func (m metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(prefix+m.name, m.help, m.labels, nil)
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// All metrics of a pool have these labels, so that one can be divided by the
// other. The role is what the connections are for: a node that is promoted has
// a pool for each role.
var (
	poolLabels   = []string{"node", "role", "kind"}
	dialLabels   = []string{"node", "role", "kind", "result"}
	closedLabels = []string{"node", "role", "kind", "reason"}
	replyLabels  = []string{"node", "role", "kind", "code"}
	laneLabels   = []string{"node", "role", "lane"}
)

// A poolMetric is a metric that has one value for each pool.
type poolMetric struct {
	name  string
	help  string
	typ   prometheus.ValueType
	value func(s *redislanes.PoolStats) float64
}

var poolMetrics = [...]poolMetric{
	{"pool_max_connections",
		"Most connections that the pool may have. A laned pool may have dedicated ones and lanes for slow commands as well.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.Size) }},
	{"pool_open_connections",
		"Connections that the pool has, in use or idle, with dedicated ones and lanes for slow commands.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.Open) }},
	{"pool_in_use_connections",
		"Open connections with a batch in flight, or dedicated to a user.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.InUse) }},
	{"pool_in_flight_batches",
		"Batches in flight, without those on lanes for slow commands.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.InFlight()) }},
	{"pool_capacity_batches",
		"Batches that may be in flight at a time: one for each connection; " +
			"for laned pools, lanes multiplied by the limit of one lane.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.Capacity) }},
	{"pool_saturation_ratio",
		"Share of the pool in use, 0 to 1: batches in flight divided by capacity. At 1, callers wait or are refused.",
		gauge, func(s *redislanes.PoolStats) float64 { return s.Saturation() }},
	{"pool_waiters",
		"Batches and users that wait for a free connection now.",
		gauge, func(s *redislanes.PoolStats) float64 { return float64(s.Waiters) }},
	{"pool_waits_total",
		"Batches and users that had to wait for a free connection, counted when the wait begins.",
		counter, func(s *redislanes.PoolStats) float64 { return float64(s.WaitCount) }},
	{"pool_wait_seconds_total",
		"Time spent waiting for a free connection, counted when the wait ends, served or not.",
		counter, func(s *redislanes.PoolStats) float64 { return s.WaitTime.Seconds() }},
	{"pool_exhausted_total",
		"Batches and users that were refused because the pool and its queue were full (ErrExhausted).",
		counter, func(s *redislanes.PoolStats) float64 { return float64(s.Exhausted) }},
	{"pool_down",
		"1 while the node is down or silent. Once RetryWindow has passed, commands for it fail at once (ErrDown).",
		gauge, func(s *redislanes.PoolStats) float64 { return oneIf(s.Down) }},
	{"pool_downs_total",
		"How often the node went down or fell silent.",
		counter, func(s *redislanes.PoolStats) float64 { return float64(s.Downs) }},
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var (
	lanesMetric = metric{"pool_lanes",
		"Open connections that all callers share. Laned pools only.", gauge, poolLabels}
	laneInFlightMetric = metric{"lane_in_flight_batches",
		"Batches in flight on one shared connection. Laned pools only. Lanes are numbered from 0, " +
			"the oldest first. When one is closed, the numbers of younger ones go down by 1.", gauge, laneLabels}
	slowInFlightMetric = metric{"slow_lane_in_flight_batches",
		"Batches in flight on one of a laned pool's connections for slow commands. They are dialled when the first " +
			"slow command comes.", gauge, laneLabels}
	dialsMetric = metric{"dials_total",
		"Finished attempts to connect to a node, by result (success or error).", counter, dialLabels}
	closedMetric = metric{"connections_closed_total",
		"Connections closed, by reason. client and idle are normal.", counter, closedLabels}
	errorRepliesMetric = metric{"error_replies_total",
		"Error replies of the node, by code (OOM, CLUSTERDOWN and so on, or other). " +
			"They count also if the client went elsewhere or tried again.", counter, replyLabels}
	slotsMetric = metric{"slots_owned",
		"Hash slots that have a node, as far as the client knows: 16384 in a healthy cluster.", gauge, nil}
	redirectsMetric = metric{"redirects_total",
		"Redirects that were followed, by kind: moved (the slot has another node) or ask (it is on its way there).",
		counter, []string{"kind"}}
	retriesMetric = metric{"retries_total",
		"Commands sent again, by cause: refused (the server did not run it, as with TRYAGAIN or LOADING), " +
			"not_sent (the server did not get all of it) or repeated (it may have run, but is idempotent).", counter, []string{"cause"}}
	refreshesMetric = metric{"refreshes_total",
		"Fetches of the map of the slots, by result (success or error). An error means that no node gave a usable map.",
		counter, []string{"result"}}
)

// A collector exports clientMetrics and poolMetrics.
var clientMetrics = [...]*metric{
	&lanesMetric, &laneInFlightMetric, &slowInFlightMetric, &dialsMetric, &closedMetric, &errorRepliesMetric,
	&slotsMetric, &redirectsMetric, &retriesMetric, &refreshesMetric,
}

// closeReasons are exported from the first scrape on, at 0: a rate needs a
// value to start from.
var closeReasons = []string{"client", "idle", "stalled", "server", "timeout", "protocol", "unclean", "renewed", "aged", "io"}

// errorCodes are exported from the first scrape on, too.
var errorCodes = wire.ErrorCodes()

// What histograms keep. Those without a type are histograms.
var (
	requestMetric = metric{name: "request_duration_seconds",
		help: "Time that requests took, with waits, redirects and retries, by the worst outcome among their commands: ok, error (a reply is an error), " +
			"not_sent or unknown (a command may have run).",
		labels: []string{"outcome"}}
	waitMetric = metric{name: "pool_wait_duration_seconds",
		help: "Time that batches and users waited if no connection was free, served or not.", labels: poolLabels}
	tripTimeMetric = metric{name: "trip_duration_seconds",
		help: "Time that a node took to answer a group of commands, with the wait for a connection. " +
			"Dedicated connections are not counted.", labels: poolLabels}
	commandsMetric = metric{name: "commands_total",
		help: "Commands of requests that ended, by result: success, or error, which includes commands without a reply.",
		typ:  counter, labels: []string{"result"}}
	tripsMetric = metric{name: "trips_total",
		help: "Groups of commands that went to a node together, with redirects and retries.", typ: counter}
)

// durationBuckets reach from a round trip on loopback to the longest deadline. The
// bounds of alerts (monitoring/alerts.yaml) are among them: between two buckets a
// quantile is a guess.
var durationBuckets = [...]float64{
	50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 20e-3, 25e-3, 50e-3, 80e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10,
}
