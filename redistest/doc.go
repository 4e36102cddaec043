// Package redistest is for tests of what a program does when Redis is in trouble:
// a cluster that runs in the process of the test, and a proxy before a server that
// breaks connections in the ways in which networks do.
//
// [StartEmulated] runs several miniredis nodes with true slot maps, MOVED, ASK and
// CROSSSLOT; slots can be moved, and replies replaced ([Emulated.Inject]).
// [StartProxy] delays, throttles, stalls, cuts and refuses connections;
// [StartProxies] puts one before each node of a cluster. [LaunchHangUp] is a server
// that hangs up after each greeting. What is started with a testing.TB is gone when
// the test ends; Launch functions are for other programs.
//
// The emulated cluster has no replicas, failovers or memory limits, and keys expire
// only when a test moves the time ([Emulated.FastForward]): what depends on those
// needs real servers.
package redistest
