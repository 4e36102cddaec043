// Package metrics exports the state of a cluster client to Prometheus.
//
// [New] makes all metrics of a client. Give their Trace to the client, and register them. They
// include histograms of the time of requests, of the answers of each node, and of the waits for
// a connection. docs/metrics.md says what each metric means, what is healthy and what to do. The
// folder monitoring has rules for Prometheus and a dashboard for Grafana.
//
// A collector of [NewCollector] has only gauges and counters, and needs no trace. It reads one snapshot,
// cluster.Client.Stats, per scrape, and costs requests nothing.
//
// Labels are addresses of nodes, numbers of lanes and fixed words. No label has a key, value,
// argument, user name or password.
package metrics
