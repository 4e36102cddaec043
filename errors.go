package redislanes

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

// The sentinel errors, in this order: what became of a command; why it was not sent; replies.
// error_types.go has the types, and internal/cause the causes that no program acts on.

var (
	// ErrNotSent marks commands that the server has not received as a whole, so they were
	// not executed. Sending them again is safe.
	ErrNotSent = errors.New("not sent")

	// ErrUnknownOutcome marks commands that were handed to the socket and got no reply: they
	// may have been executed or not. Connections and pools never send them again. Package
	// cluster sends them again only if they just read or were marked as idempotent.
	//
	// With cluster.Config.Standalone it also marks commands that got an error which no Redis
	// or Valkey server sends: a proxy may have made it up. errors.As finds it as a
	// resp3.SimpleError.
	//
	// A command that may write and is sent again keeps its unknown outcome until the reply is
	// no error, or an error about the command itself, such as WRONGTYPE. If the repeat is not
	// sent or is refused, the error says so in its text. errors.Is then finds neither
	// ErrNotSent nor [ErrRefused], and errors.As finds no error of the server.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// ErrRefused marks commands that the server did not execute, by the error that it replied,
// and that might run later or elsewhere: MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING,
// MASTERDOWN, READONLY, NOREPLICAS, BUSY, UNBLOCKED by a failover, OOM, MISCONF.
//
// The client has sent them again for as long as its settings and the context allow. The text
// of the [Error] says how long that was. It does not send a command again
//
//   - after OOM and MISCONF, which do not pass within moments,
//   - inside radix.WithConn, once its function has the connection,
//   - for a node of Client.Clients, ForEachPrimary or ForEachReplica,
//   - with a negative cluster.Config.RetryWindow, except that it follows MOVED and ASK,
//   - once a later command of its slot in the same pipeline has run.
//
// A command that may have run before it was refused has [ErrUnknownOutcome] instead.
var ErrRefused = errors.New("refused by the server")

var (
	// ErrExhausted says that the pool has no free connection, and that FailFast is set or
	// MaxWaiters callers wait already. It wraps ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", ErrNotSent)

	// ErrClosed says that the client, pool, Counters or Limiter was closed; the text
	// of the error says which. It wraps ErrNotSent. A command in flight at Close also has it,
	// with the outcome ErrUnknownOutcome. Ask for the outcome first.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotSent)

	// ErrShared refuses a command that needs a dedicated connection and came to a shared one:
	//
	//   - a command that changes the state of its connection: MULTI, WATCH, SELECT, SUBSCRIBE and others,
	//   - WAIT and WAITAOF, which wait for the writes of their own connection,
	//   - in a pipeline, a command that may block: BLPOP, XREAD with BLOCK and others.
	//
	// Use radix.WithConn for a dedicated connection, or Client.Do for a command that blocks.
	// Everywhere, ErrShared refuses commands that are not answered with one reply: CLIENT REPLY,
	// REPLCONF, SYNC and PSYNC. Use a connection of radix.Dialer for them. Inside radix.WithConn, it
	// refuses SUBSCRIBE and MONITOR after a command that changes the connection. It wraps
	// [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn for a dedicated one: %w", ErrNotSent)
)

// ErrNoOwner says that no node serves the slot of a command. If the map of the slots names a
// primary that cannot be used, such as a node that speaks TLS only, the error says which one
// and why. The error of a call also wraps ErrNotSent. The client retries such commands within
// cluster.Config.RetryWindow.
var ErrNoOwner = errors.New("no node serves the slot")

// ErrDown says that the server is down or suspect. The client retries commands for it within
// cluster.Config.RetryWindow. After that, they fail with ErrDown at once, until the server answers
// again. If the server is silent, calls that have less time left than RetryWindow fail at once.
//
//   - A server is down if the pool has no connection, and its last dial failed or its last
//     connection stalled. Connections on which a user waits for data do not count.
//   - A server is suspect if it has sent nothing for an unusual time and does not answer over a
//     new connection.
//
// It wraps ErrNotSent.
var ErrDown = fmt.Errorf("server down: %w", ErrNotSent)

// ErrNotMember says that the server at a node's address is not that node. It has no cluster
// mode, or belongs to another cluster, or is another node of this one, such as the old primary
// behind a name that has not followed a failover yet. Nothing is sent to it, since it would
// answer from other data. Commands fail with an error that wraps ErrDown and ErrNotMember,
// until the address leads to the node again or the map of the slots names another address.
var ErrNotMember = errors.New("not a node of this cluster")

// ErrCrossSlot says that the keys of a command are in more than one slot, which Redis Cluster
// refuses. Nothing is sent: the error of the call also wraps ErrNotSent. pipeline.MGet and others
// take keys of many slots.
var ErrCrossSlot = errors.New("keys in different slots")

// ErrNull says that Redis replied null where a value was asked for, as GET does for a key
// that does not exist.
var ErrNull = resp.ErrNull
