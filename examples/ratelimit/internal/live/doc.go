// Package live serves a page that draws what the service does now: decisions, their
// latency, the pools of each node, leases and errors.
//
// The page reads /metrics once a second and draws the differences. It
// keeps five minutes, from when it was opened. It needs no other host: its chart library,
// uPlot, is embedded. For history and alerts use Prometheus and Grafana (folder monitoring).
package live
