// Package nodepool keeps the connections to one Redis server. Package pool has the
// settings of a user, with their documentation and limits, and makes [Settings] of them.
//
// The kinds differ in how many callers may use a connection at the same time:
// [KindFixed] gives each of a fixed number of connections to one caller's batch at
// a time; [KindAdaptive] does so with a number that follows the load; [KindLaned] lets
// all callers share a few, some of them for slow batches only, and has dedicated ones.
//
// A [Node] is the connections to one server. It has one [Pool], or up to two if
// callers share connections: shared and dedicated. A pool dials, replaces broken
// connections with backoff and full jitter, queues what finds no free connection (first
// in, first out, bounded), closes stalled connections and counts what happens.
//
// Nothing blocks: a batch that must wait is put on a queue, and whoever frees
// a connection sends it. The caller waits in one place, for all its batches.
//
// It does not know slots, nodes' roles or redirects: package engine does.
package nodepool
