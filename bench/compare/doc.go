// Command compare measures settings of Redislanes beside each other: pools,
// groupings, scenarios, networks and sizes of the cluster, as a file in YAML
// lists or multiplies them, and prints one table.
//
//	go -C bench/compare run . -f settings/quick.yaml
//
// It starts the clusters itself, or takes that of REDIS_ADDRS. README.md has the
// flags, how it measures, and every key of the file.
//
// It compares Redislanes with itself; command peers compares it with others.
package main
