// Command ratelimit is a rate limit service on package limit: it answers Envoy's
// gRPC interface and HTTP, with rules from a file in the format of Envoy's service.
//
//	go run .                                              # on a cluster emulated in the process
//	go run . -addrs 10.0.0.1:6379,10.0.0.2:6379 -rules rules.yaml
//	curl 'localhost:8080/check?domain=shop&descriptor=user=42'
//
// The -help flag lists the settings, each of which has a variable of the environment,
// too. README.md says how to start it and what to copy, envoy.md how to connect Envoy, operate.md how to run it.
package main
