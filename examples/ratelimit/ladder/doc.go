// Command ladder loads a rate-limit service that speaks Envoy's protocol
// (envoy.service.ratelimit.v3.RateLimitService, gRPC) at one rate after the other
// and says at which it breaks:
//
//	go run ./ladder -target 127.0.0.1:8081
//	go run ./ladder -target 127.0.0.1:8081 -from 1000 -to 5000 -step 1000 -for 10s -plot ladder.svg
//
// Requests are due at the times of a schedule, whatever the service does, and
// latencies count from these times. README.md says what the figures mean.
package main
