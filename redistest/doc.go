// Package redistest has a cluster that runs in the process of the test, and a proxy that breaks
// connections as networks do.
//
// There are two such clusters. Take that of package redistest/sim to test what a program does when
// servers fail: it has replicas, failovers, random faults and virtual time. Take this one for a test that only
// needs servers that answer: it is miniredis, in real time, and knows more commands.
//
//   - [StartEmulated] runs several miniredis nodes that reply MOVED and CROSSSLOT like a
//     cluster. Tests move slots, and replace replies ([Emulated.Inject]).
//   - [StartProxy] delays, throttles, stalls and cuts connections, and hangs up on new ones.
//     [StartProxies] puts a proxy before each node of a cluster.
//
// What starts with a testing.TB ends with the test. The Launch functions are for other programs.
//
// The emulated cluster has no replicas and no failovers, and keys expire only when a test moves the
// time ([Emulated.FastForward]). Neither it nor package redistest/sim has memory limits: tests inject OOM.
//
// Other limits of the emulated cluster:
//
//   - PUBLISH reaches subscribers of the same node only.
//   - A counter that overflows in INCR wraps around. Redis replies an error.
//   - SCAN returns all keys at once, with the cursor 0, whatever COUNT says.
//   - TTL rounds down, where Redis rounds. EXPIRE with LT sets an equal time, too. SET with NX and XX
//     replies null. CLUSTER SHARDS, COUNTKEYSINSLOT and GETKEYSINSLOT are errors.
//   - An error in a script begins with "ERR Error compiling script", not with its own code.
//     redis.pcall returns nil instead of the error.
//   - In MULTI, CLUSTER, ASKING and READONLY are answered at once. SELECT 1, MOVE and SWAPDB are
//     refused at once and fail EXEC. Redis queues all of them.
package redistest
