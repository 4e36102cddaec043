// Package metrics exports the state of a cluster client to Prometheus.
//
// [NewCollector] makes a prometheus.Collector that reads one snapshot,
// cluster.Client.Stats, per scrape and turns it into gauges and counters.
// Nothing happens between scrapes, so it costs requests nothing. The folder
// monitoring has rules for Prometheus and a dashboard for Grafana;
// docs/metrics.md says what each metric means, what is healthy and what to do.
//
// Labels are addresses of nodes, numbers of lanes and fixed words. No key,
// value, argument, user name or password is in any of them.
//
// A snapshot has sums, so there is a mean wait, but no percentile. For these,
// [NewObserver] makes a cluster.Observer that keeps histograms of what requests
// take and of how long they wait for connections. It is told of each request,
// and costs it two readings of the clock and no allocation.
package metrics
