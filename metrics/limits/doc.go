// Package limits exports the decisions of a limit.Limiter to Prometheus: how many
// there are by limit and outcome, and how long calls take.
//
// Labels are the names of rules and fixed words. No key is in any of them.
package limits
