// Package redistest starts Redis servers and clusters for tests, benchmarks and
// examples.
//
// [StartCluster] and [StartServer] run real redis-server processes on free
// ports of the loopback interface; [LaunchCluster] and [LaunchServer] do so
// outside a test. [StartEmulated] and [LaunchEmulated] run several miniredis
// nodes in the process, with true slot maps, MOVED and ASK, for machines
// without redis-server. Everything is gone when the test ends, also after a
// panic or a kill: a small watchdog process sees to it.
//
// It does not install Redis, and it must not be imported by what users run,
// but for the examples.
package redistest
