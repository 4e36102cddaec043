// Package lanes has the settings by which servers are dialled, and the strategies that choose a
// connection for each batch of commands.
//
// A lane is a connection to one Redis server. Batches travel on it in order, and their replies
// come back in the same order. In a pool.Laned many callers share a lane. In a pool.Fixed or
// pool.Adaptive one caller has it at a time. A slow reply delays the replies behind it, so a
// pool.Laned has separate lanes for slow commands.
//
// A [Dialer] has the settings of connections: credentials, TLS, timeouts, limits. A [Strategy]
// chooses among the lanes to one server, which it sees as a [Set].
//
// Lanes do not carry pub/sub. Use a connection of cluster.Client.Dial for it.
package lanes
