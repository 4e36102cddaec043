// Package pipeline sends many commands, for keys in any slots of a Redis
// Cluster, in one call.
//
// A [Pipeline] encodes each command as it is appended and returns a [Reply] for it. The reply has
// its value once Do has returned. Do groups the commands by the node that owns their slot, sends
// all groups at once, and waits for all replies: one value or one typed error for each command. A
// command that fails does not affect the others.
//
// [Counters] counts several keys in one call, each with a time to live, as a rate limiter does.
// Hits of many callers on one key travel as one command. [Pipeline.Count] counts one key in a
// pipeline.
//
// A pipeline is not a transaction. Commands to different nodes run at the same time, and commands
// of other clients run in between. For transactions use radix.WithConn over cluster.Client.
//
// A mistake that New cannot return, such as a nil client, does not panic. It is the error of the
// first call that returns one.
package pipeline
