package redislanes

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

// The sentinel errors, in this order: what became of a command; why it was not sent; the
// server is down; the program's mistakes; pipelines and hits. error_types.go has the types.

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

// ErrOvertaken marks commands that were refused, and were not sent again because
// a later command of the same slot in the same request has run by then, or may
// have: they would have undone what it did. It comes with [ErrRefused], or with
// ErrUnknownOutcome for a command that may run twice.
var ErrOvertaken = errors.New("not sent again, since a later command of its slot has run")

var (
	// ErrExhausted says that the pool has no free connection and that no more
	// callers may wait. It wraps ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", ErrNotSent)

	// ErrClosed says that the client, pool, Counters or Limiter was closed; the text
	// of the error says which. It wraps ErrNotSent.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotSent)

	// ErrRetired says that the server is none of the cluster's any more, so that its
	// pool takes nothing new. It wraps ErrNotSent.
	ErrRetired = fmt.Errorf("server has left the cluster: %w", ErrNotSent)

	// ErrShared refuses commands that change the state of their connection
	// (MULTI, WATCH, SELECT, SUBSCRIBE, ...) on a connection that others share. Use
	// radix.WithConn, which lends one. It wraps [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn to be lent one: %w", ErrNotSent)

	// ErrNoWrites refuses WAIT and WAITAOF outside of radix.WithConn. They wait for the
	// writes that were sent over their own connection, so on any other connection they
	// answer at once for writes that they do not know. Use radix.WithConn, and send the
	// writes and then WAIT over the connection that it lends. It wraps [ErrNotSent].
	ErrNoWrites = fmt.Errorf("command waits for the writes of its own connection, use radix.WithConn for it and the writes: %w", ErrNotSent)

	// ErrReturned refuses what is sent over a lent connection after it was
	// returned, also over the connection of a radix.WithConn whose function has
	// returned: somebody else may have it. It wraps ErrNotSent.
	ErrReturned = fmt.Errorf("lent connection used after its return: %w", ErrNotSent)

	// ErrUnanswered refuses commands on a lent connection after which replies are
	// not one for each command: REPLCONF and CLIENT REPLY, and SUBSCRIBE, MONITOR
	// and the like unless the connection is as it was lent: in no transaction,
	// with no key watched. Use a connection of radix.Dialer. It wraps ErrNotSent.
	ErrUnanswered = fmt.Errorf("command that is not answered with one reply, use a connection of radix.Dialer: %w", ErrNotSent)
)

// ErrNoOwner is wrapped by the error of a command whose slot no node serves. If the
// map of the slots names a primary for it that cannot be used, such as a node that speaks
// TLS only, the error says which one and why.
var ErrNoOwner = errors.New("no node serves the slot")

var (
	// ErrDown says that the server is down: the pool has no connection and its
	// last dial failed, or the last connection stalled, or the server is suspect.
	// Commands fail with it at once, until the server shows life again. It wraps
	// ErrNotSent.
	ErrDown = fmt.Errorf("server down: %w", ErrNotSent)

	// ErrStalled is the cause when a connection was closed because the server sent
	// nothing for longer than the stall timeout.
	ErrStalled = errors.New("server stalled: no byte arrived for longer than the stall timeout")

	// ErrSuspect is the cause of a DownError whose server has sent nothing for an
	// unusual time though batches are in flight, and has not answered over another
	// connection either. The connections stay open for pool.Options.StallTimeout: any
	// byte, or an answer, ends the suspicion.
	ErrSuspect = errors.New("suspect: no byte arrives, and it does not answer over another connection")
)

// ErrNotMember says that the server at a node's address is not that node: it is
// none of a cluster, one of another cluster, or another node of this one, as the old
// primary is behind a name that has not followed a failover yet. Nothing is sent to it,
// since it would answer from other data; commands fail with ErrDown, which wraps
// this, until the address leads to the node again or the map of the slots names
// another one.
var ErrNotMember = errors.New("not a node of this cluster")

// ErrNotPipelinable refuses a command that cannot travel with others: one that
// may block its connection or changes its state (BLPOP, XREAD with BLOCK, MULTI,
// WATCH, SELECT, SUBSCRIBE, ...). Use Client.Do, with radix.WithConn for several. It
// wraps ErrNotSent.
var ErrNotPipelinable = fmt.Errorf("command cannot be pipelined, use Client.Do or radix.WithConn: %w", ErrNotSent)

// ErrCrossSlot is wrapped by the error for a command whose keys lie in more
// than one slot, which Redis Cluster refuses.
var ErrCrossSlot = errors.New("keys in different slots")

var (
	// ErrPending is the error of a reply before Do has returned.
	ErrPending = errors.New("no reply yet: call Do first")

	// ErrStale is the error of a reply whose pipeline was reset.
	ErrStale = errors.New("the pipeline was reset since this reply was given")

	// ErrNull is wrapped by the error when Redis replied null, as GET does for
	// a key that does not exist, where a value was asked for.
	ErrNull = resp.ErrNull
)

// ErrExecuted says that a pipeline was done before, and not Reset since. A
// second Do would count twice: it sends nothing, and the replies of the first one
// stay. A command that is appended in between is refused with this error, which
// then comes with ErrNotSent.
var ErrExecuted = errors.New("the pipeline was done already, call Reset before it is used again")
