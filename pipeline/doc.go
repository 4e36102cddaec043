// Package pipeline sends many commands, for keys in any slots of a Redis
// Cluster, in one call.
//
// A [Pipeline] encodes each command as it is appended and gives a [Reply] for
// it, which has its value once Do has returned. Do groups the commands by the
// node that owns their slot, sends all groups at once, and joins the replies:
// one value or one typed error for each command. A command that fails does not
// touch the others.
//
// [Counters] is the call of a rate limiter, which counts several keys, each with a
// time to live. [Pipeline.Count] does the same for one key in a pipeline of the caller's.
//
// Nothing here panics by itself. A mistake that New cannot return, such as a nil
// client, is the error of the first call that can.
//
// A pipeline is not a transaction: commands to different nodes run at the same
// time, and those of others run in between. For transactions use
// radix.WithConn over cluster.Client.
package pipeline
