// Package faults holds tests only: what the library does when a real cluster,
// or the network before it, fails. docs/promises.md says which promises
// they hold.
//
// With REDISLANES_STRICT=1 calls must be back within 20 ms of their deadlines,
// which needs a machine that does nothing else; without it, as beside other
// tests under the race detector, within a second.
package faults
