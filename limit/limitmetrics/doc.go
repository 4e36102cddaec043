// Package limitmetrics exports the decisions of limit.Limiter and places.Semaphore to Prometheus: how
// many there are by limit and outcome, and how long calls take.
//
// Labels are the names of rules and fixed words. No key is in any of them.
package limitmetrics
