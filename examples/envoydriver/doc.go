// Package envoydriver is a driver for Envoy's rate limit service
// (github.com/envoyproxy/ratelimit): the Client that its package redis calls.
package envoydriver
