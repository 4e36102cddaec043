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
// docs/test-your-service.md lists other limits of the emulated cluster.
package redistest
