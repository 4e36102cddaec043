// Package sim runs the whole client in random worlds: the real code, in the virtual time of
// a testing/synctest bubble, through a network (package simnet) to a Redis Cluster (package
// model) in memory. Ten minutes pass in a fraction of a second.
//
// A seed makes a world: its topology, the client's settings, what each caller calls, and a
// [Schedule] of faults. Each of these draws from a source of its own, so that leaving out a
// fault changes nothing else. Every command that writes has a text that no other one has,
// such as the amount of its INCRBY, so that the log of the servers tells how often each was
// executed.
//
// When the schedule has ended, all faults are over, and everything must work again within a
// bound. Then judges look at the [History]. Each is a pure function that knows one promise of
// safety, and is tested with histories that break it. [Run] returns what they found as a
// [Failure], which can be shrunk to the faults that are enough for it.
//
// The world's own choices depend on the seed only. Those of the client, and the order in which
// Go runs goroutines that are ready at the same moment, do not, so a seed need not fail each
// time: a failure says how often it does.
//
// How soon something happens is no matter of random worlds. Package scenes has tests of that.
package sim
