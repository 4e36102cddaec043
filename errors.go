package redislanes

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

// The sentinel errors, in this order: what became of a command; why it was not sent; replies.
// error_types.go has the types, and internal/cause the causes that no program acts on.

var (
	// ErrNotSent marks commands of which the server has certainly not seen a
	// complete copy, so that they were not executed. Sending them again is
	// safe.
	ErrNotSent = errors.New("not sent")

	// ErrUnknownOutcome marks commands that were handed to the socket and got
	// no reply: they may have been executed or not. Connections and pools never
	// send them again; package cluster does so only with commands that just read
	// or were marked as idempotent. Over cluster.Config.Standalone it also marks commands
	// that got an error which no Redis or Valkey server sends, as proxies make them up;
	// errors.As finds that as a resp3.SimpleError.
	//
	// A command that may write keeps its unknown outcome when it is sent again, until it
	// has a reply that is no error, or an error about the command itself, such as
	// WRONGTYPE. If the repeat is not sent or refused, the error says so in its text, but
	// errors.Is finds neither ErrNotSent nor [ErrRefused], and errors.As no error of the
	// server.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// ErrRefused marks commands that the server replied to with an error by which
// it says that it did not execute them and might do so later or elsewhere:
// MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY, NOREPLICAS, BUSY,
// UNBLOCKED by a failover, OOM, MISCONF.
// The client has sent them again for as long as its settings and the context
// allow; the text of the [Error] says how long that was. After OOM and MISCONF it has not: they
// do not pass within moments. A command that may have run before it was refused has
// [ErrUnknownOutcome] instead.
var ErrRefused = errors.New("refused by the server")

var (
	// ErrExhausted says that the pool has no free connection and that no more
	// callers may wait. It wraps ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", ErrNotSent)

	// ErrClosed says that the client, pool, Counters or Limiter was closed; the text
	// of the error says which. It wraps ErrNotSent.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotSent)

	// ErrShared refuses a command that needs a connection of its own where others share
	// the connection: one that changes its state (MULTI, WATCH, SELECT, SUBSCRIBE, ...), WAIT
	// and WAITAOF, which wait for the writes of their own connection, and in a pipeline also
	// one that may block (BLPOP, XREAD with BLOCK, ...). Use radix.WithConn, which lends a
	// connection, or Client.Do for one that blocks. On a dedicated connection it refuses commands
	// that are not answered with one reply (CLIENT REPLY, REPLCONF, MONITOR in a
	// transaction, ...). It wraps [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn to be lent one: %w", ErrNotSent)
)

// ErrNoOwner is wrapped by the error of a command whose slot no node serves. If the
// map of the slots names a primary for it that cannot be used, such as a node that speaks
// TLS only, the error says which one and why.
var ErrNoOwner = errors.New("no node serves the slot")

// ErrDown says that the server is down: the pool has no connection and its
// last dial failed, or the last connection stalled, or the server is suspect: it has sent
// nothing for an unusual time, and does not answer over another connection. Commands fail
// with it at once, until the server shows life again. It wraps ErrNotSent.
var ErrDown = fmt.Errorf("server down: %w", ErrNotSent)

// ErrNotMember says that the server at a node's address is not that node: it is
// none of a cluster, one of another cluster, or another node of this one, as the old
// primary is behind a name that has not followed a failover yet. Nothing is sent to it,
// since it would answer from other data; commands fail with ErrDown, which wraps
// this, until the address leads to the node again or the map of the slots names
// another one.
var ErrNotMember = errors.New("not a node of this cluster")

// ErrCrossSlot is wrapped by the error for a command whose keys lie in more
// than one slot, which Redis Cluster refuses.
var ErrCrossSlot = errors.New("keys in different slots")

// ErrNull is wrapped by the error when Redis replied null, as GET does for
// a key that does not exist, where a value was asked for.
var ErrNull = resp.ErrNull
