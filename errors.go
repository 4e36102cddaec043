package redislanes

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/redislanes/redislanes/internal/resp"
)

// The sentinel errors, in this order: what became of a command; why it was not sent; replies.
// The types follow. Package internal/cause has the causes that no program acts on.

var (
	// ErrNotSent marks commands that the server has not received as a whole, so they were
	// not executed. Sending them again is safe.
	ErrNotSent = errors.New("not sent")

	// ErrUnknownOutcome marks commands that were sent and got no reply: they may have run or not. The
	// client sends such a command again only if it just reads or was marked as idempotent:
	//
	//   - It fails after its second or third try if each connection ends before its reply.
	//   - It fails at once if its reply is larger than lanes.Dialer.MaxReply.
	//   - If a write that is sent again is then refused or not sent, its outcome stays unknown: the first
	//     try may have run. The text says what became of the last one.
	//
	// An error reply is a reply, whoever made its text up: a server, a proxy, a script or a module.
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
//   - for a node of Client.Clients or ForEachPrimary,
//   - with a negative cluster.Config.RetryWindow, except that it follows MOVED and ASK,
//   - once a later command of its slot in the same pipeline has run.
//
// A command that may have run before it was refused has [ErrUnknownOutcome] instead.
var ErrRefused = errors.New("refused by the server")

var (
	// ErrExhausted says that the pool has no free connection, and that none may be waited for or
	// MaxWaiters callers wait already. It wraps ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", ErrNotSent)

	// ErrClosed says that the client, pool, Counters or Limiter was closed; the text
	// of the error says which. It wraps ErrNotSent. A command in flight at Close also has it,
	// with the outcome ErrUnknownOutcome. Ask for the outcome first.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotSent)

	// ErrShared refuses a command that needs a dedicated connection and came to a shared one:
	//
	//   - a command that changes the state of its connection: MULTI, WATCH, SELECT and others,
	//   - WAIT and WAITAOF, which wait for the writes of their own connection,
	//   - in a pipeline, a command that may block: BLPOP, XREAD with BLOCK and others.
	//
	// Use radix.WithConn for a dedicated connection, or Client.Do for a command that blocks.
	// Everywhere, also inside radix.WithConn, ErrShared refuses commands that are not answered with
	// one reply: SUBSCRIBE, MONITOR, CLIENT REPLY, REPLCONF, SYNC and PSYNC. Use a connection of
	// Client.Dial for them. It wraps [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn for a dedicated one: %w", ErrNotSent)
)

// ErrNoOwner says that no node serves the slot of a command. If the map of the slots names a
// primary that cannot be used, such as a node that speaks TLS only, the error says which one
// and why. The error of a call also wraps ErrNotSent. The client retries such commands within
// cluster.Config.RetryWindow.
var ErrNoOwner = errors.New("no node serves the slot")

// ErrDown says that the server is down or suspect. The client retries commands for it within
// cluster.Config.RetryWindow. When it has been down for longer, they fail with ErrDown at once, until
// the server answers again.
//
//   - A server is down if the pool has no connection, and its last dial failed or its last
//     connection stalled. Connections on which a user waits for data do not count.
//   - A server is suspect if it has sent nothing for an unusual time and does not answer over a
//     new connection.
//
// It wraps ErrNotSent.
var ErrDown = fmt.Errorf("server down: %w", ErrNotSent)

// ErrWrongServer says that the server at a node's address is not that node. It has no cluster
// mode, or belongs to another cluster, or is another node of this one, such as the old primary
// behind a name that has not followed a failover yet. Nothing is sent to it, since it would
// answer from other data. Commands fail with an error that wraps ErrDown and ErrWrongServer,
// until the address leads to the node again or the map of the slots names another address.
var ErrWrongServer = errors.New("not a node of this cluster")

// ErrCrossSlot says that the keys of a command are in more than one slot, which Redis Cluster
// refuses. Nothing is sent: the error of the call also wraps ErrNotSent. pipeline.MGet and others
// take keys of many slots.
var ErrCrossSlot = errors.New("keys in different slots")

// ErrNull says that Redis replied null where a value was asked for, as GET does for a key
// that does not exist.
var ErrNull = resp.ErrNull

// ErrDecode says that a reply does not fit its receiver, or that the receiver panicked. The command
// has run: do not repeat it. The text has the types of both and no value: radix's error texts show the
// reply and, in a radix.Pipeline, the command. errors.Is and errors.As find radix's error nevertheless.
var ErrDecode = errors.New("the reply cannot be decoded")

// prefix is what the text of every typed error of a call begins with. Errors about
// settings begin with the package that has them.
const prefix = "redislanes: "

// text returns what err says as part of the text of an error that wraps it, and
// that has said the prefix and the address already.
func text(err error, addr string) string {
	s := strings.TrimPrefix(fmt.Sprint(err), prefix)
	if addr != "" {
		s = strings.TrimPrefix(s, addr+": ")
	}
	return s
}

// An Error says what became of one command. errors.Is finds its Outcome and the errors that
// Cause wraps, except outcomes: a command that was sent before its connection was closed has
// ErrUnknownOutcome as its Outcome and [ErrClosed] as its Cause, and errors.Is does not find
// the ErrNotSent that ErrClosed wraps.
//
// If the server replied with an error, errors.As finds a resp3.SimpleError with the text as
// the server sent it. That text may hold arguments. The text of an Error holds none. Do not
// change an Error: several commands may share it.
type Error struct {
	Command string    // its name, in capitals; "" if the error is about a connection or a whole action
	Addr    string    // the node, host:port; "" if none was chosen
	Outcome error     // ErrNotSent, ErrUnknownOutcome or ErrRefused; nil if there is a reply
	Tries   int       // attempts of the cluster client to send the command; 0 if it made none
	Since   time.Time // since when the node or the slot refuses commands; zero if the command was not refused
	Cause   error     // the reason: an I/O error, the context's error, [ErrDown], the server's reply and others
}

// Error names the command, the node, the outcome and the cause, and ends for example with
// "(after 5 tries in 0.9 s; node 127.0.0.1:7000 unavailable for 1.2 s)".
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	name := e.Command
	if strings.ContainsFunc(name, separates) {
		name = "…"
	}
	switch {
	case name != "" && e.Addr != "":
		parts = append(parts, name+" on "+e.Addr)
	case name != "" || e.Addr != "":
		parts = append(parts, name+e.Addr)
	}
	why := ""
	if e.Cause != nil {
		why = text(e.Cause, e.Addr)
		if e.Command != "" {
			why = strings.TrimPrefix(why, e.Command+": ")
		}
	}
	if e.Outcome != nil && !errors.Is(e.Outcome, ErrRefused) { // the server's reply says that
		parts = append(parts, e.Outcome.Error())
		why = strings.TrimSuffix(why, ": "+ErrNotSent.Error())
	}
	if why != "" {
		parts = append(parts, why)
	}
	return prefix + strings.Join(parts, ": ")
}

// separates finds what no command's name has: a program that passes a whole line as the name,
// such as "SET k v", passes arguments.
func separates(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// Unwrap returns the outcome, if there is one, and the cause.
func (e *Error) Unwrap() []error {
	switch {
	case e.Cause == nil && e.Outcome == nil:
		return nil
	case e.Cause == nil:
		return []error{e.Outcome}
	case e.Outcome == nil:
		return []error{cause{e.Cause}}
	}
	return []error{e.Outcome, cause{e.Cause}}
}

// A cause is an error without the outcomes in it. Otherwise a cause that wraps ErrNotSent
// would let a program send an INCRBY again that may have run.
type cause struct{ error }

func (c cause) Is(target error) bool {
	return target != ErrNotSent && target != ErrUnknownOutcome && target != ErrRefused && errors.Is(c.error, target)
}

func (c cause) As(target any) bool { return errors.As(c.error, target) }

// A HandshakeError reports that connecting failed: the server refused a command of the
// handshake (a wrong password, too many clients), it is no Redis server, or it speaks TLS and
// the lanes.Dialer does not. It holds no credentials.
//
// Some refusals may end soon: BUSY, LOADING, MASTERDOWN, CLUSTERDOWN, OOM and others of ErrRefused,
// too many clients, a text that no server sends, and a refusal of what Dialer.Credentials returned.
// After these the pool dials again with backoff. Commands are retried within
// cluster.Config.RetryWindow. cluster.Config.New waits, too. If no Redis or Valkey server sends the
// text, New waits for five seconds at most. Any other refusal is final.
type HandshakeError struct {
	Command string // the refused command, such as AUTH, or "TLS"; "" if the server refuses every command, or is no Redis server
	Reply   string // the server's error, quoted, as far as it is known to hold no argument; "" if there is none
	Hint    string // the probable mistake and what to do about it; may be ""
	Cause   error  // an error of the protocol or of TLS; nil if Reply says why, unless Dialer.Credentials returned what was refused
}

func (e *HandshakeError) Error() string {
	parts := []string{"handshake"}
	if e.Command != "" {
		parts = append(parts, e.Command)
	}
	switch {
	case e.Reply != "":
		parts = append(parts, e.Reply)
	case e.Cause != nil:
		parts = append(parts, e.Cause.Error())
	}
	text := strings.Join(parts, ": ")
	switch {
	case e.Hint == "":
		return text
	case e.Reply == "" && e.Cause == nil:
		return text + ": " + e.Hint
	}
	return text + "; " + e.Hint
}

// Unwrap returns Cause.
func (e *HandshakeError) Unwrap() error { return e.Cause }

// A PipelineError says that commands of a pipeline failed. The replies have the error of each.
// errors.Is and errors.As look at First alone: if they find [ErrNotSent], other commands may have
// run. Before a command is sent again, ask its own Reply or Hit.
type PipelineError struct {
	Failed, Total int   // numbers of commands. If one was refused when it was appended, all fail
	First         error // the error of the first command that failed
}

func (e *PipelineError) Error() string {
	return fmt.Sprintf(prefix+"%d of %d commands failed, the first: %s", e.Failed, e.Total, text(e.First, ""))
}

// Unwrap returns First.
func (e *PipelineError) Unwrap() error { return e.First }
