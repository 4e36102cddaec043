// Package load sends requests to a rate-limit service in an open loop: requests are
// due at the times of a schedule, whatever the service does, and a latency counts
// from when its request was due.
package load
