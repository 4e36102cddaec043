// Package metrics exports the state of a cluster client to Prometheus.
//
// [New] makes all metrics of a client. Their trace is given to the client, and they are
// given to a registry. The folder monitoring has rules for Prometheus and a dashboard for
// Grafana; docs/metrics.md says what each metric means, what is healthy and what to do.
//
// A [Collector] has a part of them and needs no trace. It reads one snapshot,
// cluster.Client.Stats, per scrape and turns it into gauges and counters. Nothing happens
// between scrapes, so it costs requests nothing, but a snapshot has sums, and no
// percentile. [New] adds histograms of what requests take, of what each node takes, and
// of how long requests wait for connections.
//
// Labels are addresses of nodes, numbers of lanes and fixed words. No key,
// value, argument, user name or password is in any of them.
package metrics
