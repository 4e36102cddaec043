// Package metrics exports the state of a cluster client to Prometheus.
//
// [New] makes all metrics of a client: it is given to the client as its observer, and
// to a registry. The folder monitoring has rules for Prometheus and a dashboard for
// Grafana; docs/metrics.md says what each metric means, what is healthy and what to do.
//
// There are two kinds, which can be had by themselves. [NewCollector] reads one
// snapshot, cluster.Client.Stats, per scrape and turns it into gauges and counters.
// Nothing happens between scrapes, so it costs requests nothing, but a snapshot has
// sums, and no percentile. [NewObserver] is told of each request and keeps histograms of
// what requests take, of what each node takes, and of how long requests wait for
// connections. It costs a request a few readings of the clock and no allocation.
//
// Labels are addresses of nodes, numbers of lanes and fixed words. No key,
// value, argument, user name or password is in any of them.
package metrics
