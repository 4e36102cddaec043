// Package bench holds Go benchmarks of the library against a Redis Cluster. It
// has no code of its own, only tests.
//
//	go -C bench test -run '^$' -bench Scenario -benchtime 2s
//	go -C bench test -run '^$' -bench 'Scenario/mixed_10keys/pool=laned' -count 10
//	go -C bench test -run '^$' -bench SingleCaller
//
// # What is measured
//
// BenchmarkScenario has 100 callers in a closed loop: each sends its next request when it has
// the answer to the last, through a pipeline.Pipeline that it uses again and again.
// BenchmarkSingleCaller is the same with one caller. A request is that of a rate limiter,
// INCRBY key 1 and EXPIRE key 60 for each of its keys:
//
//	fixed_key      always the same key
//	variable_key   one of 10,000 keys at random
//	mixed_2keys    the fixed key and one of the 10,000
//	mixed_10keys   five fixed keys and five of the 10,000: 20 commands, all nodes
//
// The fixed keys are spread evenly over the nodes.
//
// The pools, for each node: fixed-10, fixed-50 and fixed-100 give a connection to one caller at a
// time; adaptive does so with 10 to 100 by load; laned-1, laned-4 and laned-8 share so many, chosen
// by the default strategy. Pools are connected before the clock starts. A request that fails, or
// has a reply that cannot be, fails the benchmark.
//
// Benchmarks add the columns req/s, p50-ns and p99-ns, in whole microseconds, and, on Unix,
// cpu-ns/req: user and system time of this process. Requests a second on a shared machine are
// noisy; compare CPU. With 100 callers ns/op is the time between answers, not the latency of one.
//
// BenchmarkPoolSize is mixed_10keys by the size of the pool over a round trip of 5 ms,
// BenchmarkLanes by strategy over 1 ms. BenchmarkObserved is what metrics cost.
// BenchmarkStages is where the time of one caller's request goes. BenchmarkSlot and BenchmarkGroup
// are in internal/engine, BenchmarkEncode and BenchmarkFrame in internal/resp.
//
// # Comparing
//
// CONTRIBUTING.md compares two versions of the library. Settings, which take turns, are columns of
// one run:
//
//	go -C bench test -run '^$' -bench PoolSize > sizes.txt
//	benchstat -col /pool -ignore /turn sizes.txt
package bench
