// Package alerts holds one test: the form of metrics/alerts.yaml.
package alerts
