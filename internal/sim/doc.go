// Package sim lets the whole client live in a simulated world: the real code, in
// the virtual time of a testing/synctest bubble, through a network (package
// simnet) to a Redis Cluster (package model) in memory, of which both do what real
// ones do at their worst. Ten minutes pass in a fraction of a second, and
// deadlines are exact.
//
// A seed makes a world: its topology, the client's settings, what each caller
// calls, and a [Schedule] of faults. Each of these draws from a source of its own,
// so that leaving out a fault changes nothing else. Every command that writes has a
// text that no other one has, such as the amount of its INCRBY, so that the log of
// the servers tells how often each was executed.
//
// When the world has ended, judges look at its [History]. Each is a pure function
// that knows one promise of the library, and is tested with histories that break
// it. [Run] returns what they found as a [Failure], which can be shrunk to the
// faults that are enough for it.
//
// The world's own choices depend on the seed only. Those of the client, and the
// order in which Go runs goroutines that are ready at the same moment, do not, so a
// seed need not fail each time: a failure says how often it does.
//
// It does not look at the speed of the client, or at TLS.
package sim
