// Package alerts holds tests of what is in the folder monitoring: the form of the
// rules, and what promtool and Prometheus make of rules and dashboard.
package alerts
