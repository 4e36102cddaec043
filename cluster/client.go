package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Client sends commands to the nodes of a Redis Cluster. Make it with
// [New], or with [Config.New] if it needs settings. All methods are safe for concurrent use. On a
// Client that New has not made, methods return an error, and Addr, Primary and Stats panic.
type Client client

// A client is converted by packages pipeline and limit.
type client = engine.Client

var (
	_ radix.Client      = (*Client)(nil)
	_ radix.MultiClient = (*Client)(nil)
)

func (c *Client) engine() *engine.Client { return (*engine.Client)(c) }

// Do performs any radix action on the node that owns its keys. The keys must be in one slot.
// Do reads them from the commands, not from the action's properties, which are wrong for many
// commands. An action with a dedicated connection, such as radix.WithConn, goes by the key
// that it names. Each command follows its own redirects, also inside a radix.Pipeline, but not
// inside radix.WithConn: once its function has the connection, it gets MOVED, ASK and other
// refusals as errors, and nothing is retried. Call Do again if the function may run twice.
//
// These have a dedicated connection: blocking commands, actions that cannot share a
// connection, and a radix.Pipeline with a whole transaction, MULTI to EXEC. A transaction
// follows redirects as long as nothing of its pipeline has run. Whether a command blocks
// depends on its arguments: XREAD does with BLOCK only.
//
// If the context has no deadline, a call to a silent server ends within 10 s
// after its reply was due: for a command that blocks, when its own timeout has passed. These wait
// until the context ends:
//
//   - a command that blocks without a timeout,
//   - a call that waits for a connection of a full pool,
//   - inside radix.WithConn, a command that the client does not know,
//   - with [WhileContextLasts] as Config.RetryWindow, a call that is retried, as while its node is
//     down or silent.
//
// Outside of radix.WithConn, [redislanes.ErrShared] refuses commands that change their
// connection. It also refuses WAIT and WAITAOF, which wait for the writes of their own
// connection.
//
// SUBSCRIBE and MONITOR need a connection of [Client.Dial]. They are refused everywhere, also
// inside radix.WithConn.
//
// All commands without a key go to the same node, which each client chooses, as long as it
// is in the map and not down. So EVALSHA without keys finds the script of SCRIPT LOAD, CONFIG
// GET finds what CONFIG SET set, and a SCAN loop goes over that node's keys. To reach all
// nodes, use [Client.Clients].
//
// For an error of the server, errors.As finds a resp3.SimpleError with the text as it was
// sent, as with radix itself; the printed error has no arguments. A [redislanes.Error] wraps
// it. A function inside radix.WithConn gets an error that says that the command was not executed
// ([redislanes.ErrRefused]) even if its receiver accepts errors as values. Other errors of the
// server are values for such a receiver.
func (c *Client) Do(ctx context.Context, action radix.Action) error {
	return perform(ctx, c.engine(), action, engine.How{})
}

// Cmd sends one command and follows redirects. It returns the reply, or the error as a
// reply, at the latest when the context ends. The keys must be in one slot.
//
// Arguments are strings, []byte, numbers, bools (sent as 1 or 0), and what implements
// encoding.TextMarshaler or encoding.BinaryMarshaler. Any other type is an error before anything is
// sent: convert named types, and pass the elements of a slice or map one by one. A time.Duration is
// refused, too: some commands take seconds and some take milliseconds.
//
// A command that blocks, such as BLPOP, gets a dedicated connection. A command that changes its
// connection, such as MULTI or SUBSCRIBE, is refused as by [Client.Do].
//
//	n, err := client.Cmd(ctx, "INCRBY", "hits", 2).Int()
//
// Many commands are faster in a pipeline, which sends them together.
func (c *Client) Cmd(ctx context.Context, name string, args ...any) Reply {
	return Reply(c.engine().Cmd(ctx, name, args))
}

// DoSecondary is Do on a replica, which may lag behind its primary. Without a replica, it is
// Do. The slots of a primary are shared out among its replicas. All commands for a slot go to
// the same replica as long as it is up and the map has the same replicas: an SSCAN loop does
// not mix the cursors of two, and a reader does not see an older value after a newer one.
// Commands without a key also go to one replica. If the replica does not answer, another
// replica of the slot does, or else the primary. [Config.Near] prefers replicas.
//
// A command that may do more than read goes to the primary. The rest of its radix.Pipeline goes
// there, too. These commands may do more than read:
//
//   - a command that writes,
//   - EVAL, EVALSHA and FCALL (to read with a script, use EVAL_RO, EVALSHA_RO or FCALL_RO),
//   - in a radix.Pipeline, a module's command that the servers do not describe.
//
// Commands without a key go to a replica unless they are scripts or PUBLISH, so SCRIPT LOAD and
// CONFIG SET take effect there. Functions of radix.WithConn run on the replica whatever they do.
func (c *Client) DoSecondary(ctx context.Context, action radix.Action) error {
	return perform(ctx, c.engine(), action, engine.How{Replicas: true})
}

// Addr returns the first of the addresses that New was given; part of
// radix.Client.
func (c *Client) Addr() net.Addr { return wire.NetAddr(c.engine().Seed()) }

// Primary returns the address of the node that owns the slot, as far as the
// client knows; "" if none does.
func (c *Client) Primary(slot uint16) string { return c.engine().Primary(slot) }

// Stats returns a snapshot. It is safe to call while the client works.
func (c *Client) Stats() redislanes.Stats { return c.engine().Stats() }

// Sync fetches the map of the slots now and returns when it is in use. It fails if no server
// returns a usable map, if the context ends, or if the client is closed (redislanes.ErrClosed).
// An attempt that is under way ends first. In a loop, pause between calls.
func (c *Client) Sync(ctx context.Context) error { return c.engine().Sync(ctx) }

// Close closes all connections at once. Commands in flight end with an error that wraps
// ErrClosed. It returns when no goroutine of the client is left, so a function that the client
// calls, such as NetDial or a log, must not call it. Closing again does nothing. The error is nil, except on a Client that New has not made.
func (c *Client) Close() error { return c.engine().Close() }

// Format describes the client for every verb of package fmt, which would read fields that are changing.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, c.engine().String()) }

// SlowCommands returns the names, in upper case and sorted, of the commands that are slow by
// default:
//
//   - those that read or combine whole collections or the key space: HGETALL, LRANGE, KEYS,
//     SCAN, SORT, SUNION and the like,
//   - scripts,
//   - with more than 100 keys, DEL, EXISTS, MGET, MSET, MSETNX, PFCOUNT, PFMERGE, TOUCH and
//     UNLINK.
//
// If one request has 1,000 commands or more, or 256 KiB or more, for one node, they travel as slow
// commands.
func SlowCommands() []string { return command.SlowNames() }
