// Package servers starts Redis servers and clusters for tests and benchmarks.
//
// [StartCluster] and [StartServer] run real redis-server processes on free
// ports of the loopback interface; [LaunchCluster] and [LaunchServer] do so
// outside a test. [ServerEnv] chooses another server, such as an older one or
// Valkey. Everything is gone when the test ends, also after a panic or a
// kill: a small watchdog process sees to it. Package redistest has what runs in
// the process, for machines without redis-server.
//
// It does not install Redis, and it must not be imported by what users run.
package servers
