// Package simnet is a network in memory for tests in a testing/synctest bubble:
// connections with latency, bandwidth and faults, on which hours pass in
// milliseconds and deadlines are exact.
//
// A [Host] listens at an address and serves each connection on a goroutine of
// its own; [Network.Dialer] connects to it. [Conditions] say what the network
// does to the bytes and to dials. They are imposed and lifted at any time, may
// overlap, and act on connections that are open as on those to come.
//
// Connections behave as those of TCP do. Bytes arrive in their order, and nothing
// is lost without the connection's end: what a partition holds up arrives when it
// has healed. A writer runs ahead of its reader by a window. Closing lets arrive
// what was sent before, or resets the connection if there was something unread;
// what arrives at a closed end resets it, too. Bytes that have arrived can be read
// after a reset. Dials into a partition are tried again as the SYNs of TCP are.
//
// All randomness comes from the seed, for each connection apart, so that one
// connection's traffic does not change another's. There is no goroutine besides
// those that serve, and no polling: an arrival is a timer of whoever reads.
//
// The package knows nothing of what the bytes mean. It does not model packets,
// congestion, names or TLS.
package simnet
