// Package sim is a Redis Cluster in memory, for tests of what a program does when
// servers fail. It works with any client that takes a dial function.
// A test that only needs servers that answer takes the simpler cluster of package redistest.
//
// [Start] makes a cluster with a network before it. Nodes serve RESP2 and RESP3,
// replicate, redirect with MOVED and ASK, and fail over. Methods of [Node] and
// [Cluster] make faults: [Node.Kill], [Node.Failover], [Node.Freeze], [Node.Cut],
// [Node.Delay], [Node.Refuse], [Cluster.Move] and others. Those of a [Host] concern the programs
// that run on it alone. [Cluster.Heal] ends them all. [Cluster.Trouble] makes random faults from a seed.
// [Cluster.Replay] makes a list of faults, and [Shorten] finds the few that make a test fail. [Calls] judges what a
// program's calls did.
//
// In a bubble of testing/synctest time is virtual: a minute of faults takes some
// tenths of a second, and deadlines are exact. Elsewhere time is real. Virtual time stands still while a goroutine
// waits for a mutex. After 10 s of real time in which it does, the process ends with the stacks of what waits.
//
//	synctest.Test(t, func(t *testing.T) {
//		redis := sim.Start(t, sim.Config{})
//		client := connect(t, redis.Addrs(), redis.Dial)
//		redis.Owner("user:42").Failover()
//		...
//	})
//
// Nothing happens unless a test asks for it: the death of a primary alone promotes no
// replica.
//
// Replies are those of redis-server 7.0, or of Config.Server, byte for byte, for the commands that it knows.
// Other commands get the reply to an unknown command. COMMAND, INFO,
// ROLE and CLIENT INFO tell less than a server does, and ZADD has no options.
//
// The package does not persist or evict keys, and has no TLS. Scripts run in gopher-lua,
// without cjson and other libraries. docs/sim.md says what the cluster and the network
// assume, and where each assumption was seen.
package sim
