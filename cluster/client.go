package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/engine"
)

// A Client sends commands to the nodes of a Redis Cluster. Make it with
// [New], or with [Config.New] if it needs settings. All methods are safe for concurrent use.
type Client engine.Client

var (
	_ radix.Client      = (*Client)(nil)
	_ radix.MultiClient = (*Client)(nil)
)

func (c *Client) engine() *engine.Client { return (*engine.Client)(c) }

// Do performs any radix action on the node that owns its keys, which must be
// in one slot. Where they are is read from the commands themselves, not from the
// action's properties, which name them wrongly for many commands; only an action
// that is lent a connection, such as radix.WithConn, goes by the key that it
// names. Redirects are followed for each command by itself, also inside a
// radix.Pipeline. Blocking commands, actions that cannot share a connection, and
// a radix.Pipeline with a whole transaction, MULTI to EXEC, are lent one. A
// transaction follows redirects as long as nothing of its pipeline has run. Whether a
// command blocks depends on its arguments: XREAD does with BLOCK only.
//
// Outside of radix.WithConn, commands that change their connection are refused with
// [redislanes.ErrShared], and so are WAIT and WAITAOF, which wait for the writes of their own
// connection.
//
// Inside radix.WithConn, SUBSCRIBE and MONITOR dial a connection of radix's, which
// the function then has in place of the lent one, and on which a nil first argument
// of EncodeDecode reads what comes without a command.
//
// A command without a key goes to one and the same node as long as that is in the
// map and not down: the owner of the lowest slot. So EVALSHA without keys finds the script of
// SCRIPT LOAD, CONFIG GET what CONFIG SET set, and a SCAN loop goes over that
// node's keys; to reach all nodes, use [Client.Clients].
//
// Errors of the server are found as resp3.SimpleError by errors.As, as with radix
// itself, with the text as it was sent; what they print is without arguments. They
// are wrapped in a [redislanes.Error]; if the action was lent a connection, only those that say that
// the command was not executed (see [redislanes.ErrRefused]). Such an error is always that of
// the call, also if a receiver takes errors for values.
func (c *Client) Do(ctx context.Context, action radix.Action) error {
	return c.engine().Do(ctx, action)
}

// DoSecondary is Do on a replica, which may lag behind its primary. Where
// there is none, it is Do. All commands for a slot go to one and the same replica
// as long as the map has the same ones and it is up, so that an SSCAN loop does not mix
// the cursors of two, nor a reader see an older value after a newer one; the slots of
// a primary are shared out among its replicas. A command without a key has one
// replica, too. What the replica does not answer, another replica of the slot does, or
// else the primary. [Config.Zone] prefers replicas that are near.
func (c *Client) DoSecondary(ctx context.Context, action radix.Action) error {
	return c.engine().DoSecondary(ctx, action)
}

// Clients returns a client for each node, by the primary's address; part of
// radix.MultiClient. They do not follow redirects, and closing them does
// nothing. They refuse what [Client.Do] refuses. A failure on one of them asks for a new
// map of the slots, as any other failure does, so that a later call of Clients leaves out
// nodes that have left.
func (c *Client) Clients() (map[string]radix.ReplicaSet, error) { return c.engine().Clients() }

// ForEachPrimary calls f for each primary of the map in use, all at once, and
// returns when all calls have: for SCRIPT LOAD, DBSIZE, FLUSHALL, CONFIG SET and
// what else is not about keys. The error joins those of f, each with the address of
// its node. f's node does not follow redirects, and closing it does nothing; f must
// be safe for concurrent use.
//
// A node that joins while this runs is missed: a program that cares calls
// [Client.Sync] first.
func (c *Client) ForEachPrimary(ctx context.Context, f func(ctx context.Context, node radix.Client) error) error {
	return c.engine().ForEachPrimary(ctx, f)
}

// ForEachReplica is [Client.ForEachPrimary] for replicas.
func (c *Client) ForEachReplica(ctx context.Context, f func(ctx context.Context, node radix.Client) error) error {
	return c.engine().ForEachReplica(ctx, f)
}

// Addr returns the first of the addresses that New was given; part of
// radix.Client.
func (c *Client) Addr() net.Addr { return c.engine().Addr() }

// Primary returns the address of the node that owns the slot, as far as the
// client knows; "" if none does.
func (c *Client) Primary(slot uint16) string { return c.engine().Primary(slot) }

// Stats returns a snapshot. It is safe to call while the client works.
func (c *Client) Stats() redislanes.Stats { return c.engine().Stats() }

// Sync fetches the map of the slots now and returns when it is in use.
func (c *Client) Sync(ctx context.Context) error { return c.engine().Sync(ctx) }

// Close closes all connections. Commands in flight end with an error that
// wraps ErrClosed. It returns when no goroutine of the client is left; closing
// again does nothing.
func (c *Client) Close() error { return c.engine().Close() }

// String describes the client.
func (c *Client) String() string { return c.engine().String() }

// Format prints String for every verb: fmt would read fields that are changing.
func (c *Client) Format(f fmt.State, verb rune) { c.engine().Format(f, verb) }

// SlowCommands returns the names, in upper case and sorted, of the commands that
// are slow by default: those that read or combine whole collections or the key
// space (HGETALL, LRANGE, KEYS, SCAN, SORT, SUNION and the like), scripts, and
// DEL, EXISTS, MGET, MSET, MSETNX, PFCOUNT, PFMERGE, TOUCH and UNLINK, which are
// slow only with more than 100 keys. Besides, 1,000 commands or more of one
// request for one node travel as slow ones do, whatever they are.
func SlowCommands() []string { return command.SlowNames() }
