package pipeline

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/args"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// Config says how a pipeline is sent. The zero value is the fastest way.
type Config struct {
	// Group says which commands travel together. Default cluster.ByNode.
	Group cluster.Grouping

	// Sequential sends a group only when the one before it has its replies. By default the groups are
	// handed to their connections without waiting for any of them, and the caller is woken once, when
	// all have their replies.
	Sequential bool

	// Replicas sends commands that only read to replicas, which may lag behind. Commands without a key
	// go to one, too, except scripts and PUBLISH: SCRIPT LOAD takes effect there. All commands of
	// a slot go to the same replica, as with [cluster.Client.DoSecondary]. If one of them may do more
	// than read, such as EVAL, all commands of its slot go to the primary; EVAL_RO only reads. A
	// module's command that the servers do not describe counts as one that may write, unless it is
	// the only command of its slot. The primary also takes those that the replica does not answer
	// or may not run, and all if there is no replica.
	Replicas bool

	// Idempotent marks all commands as [Reply.Idempotent] does. INCRBY is not
	// idempotent.
	Idempotent bool
}

// New returns an empty pipeline that sends to the client. Do returns an error if the
// client is nil.
func (c Config) New(client *cluster.Client) *Pipeline {
	how := engine.How{BySlot: bool(c.Group), Sequential: c.Sequential, Replicas: c.Replicas}
	return &Pipeline{how: how, list: engine.NewCommands((*engine.Client)(client), c.Idempotent, bridge.Unmarshal)}
}

// New returns an empty pipeline with the zero [Config]; see [Config.New].
func New(client *cluster.Client) *Pipeline { return Config{}.New(client) }

// A Pipeline is a list of commands that are sent together. Append commands, call Do, read the
// replies, call Reset and use it again. Over a laned pool, a reused pipeline does not allocate.
//
// It is not safe for concurrent use: one goroutine at a time may use it and its replies. Any
// number of pipelines may use one client. Make it with [New]. The zero Pipeline refuses
// everything.
type Pipeline struct {
	list    engine.Commands
	how     engine.How
	capture capture
	counts  []count

	lastKey  string // of IncrBy or Expire, which usually come in pairs
	lastSlot int32
	lastAt   int // how many commands there were then; 0: none
}

// A Reply is the reply to one command of a pipeline, valid from Do until Reset. See
// [cluster.Reply].
type Reply = cluster.Reply

// Reset empties the pipeline. Its earlier replies become invalid.
func (p *Pipeline) Reset() {
	p.list.Reset()
	clear(p.counts)
	p.counts = wire.Kept(p.counts, wire.KeptCommands)
	p.lastKey, p.lastAt = "", 0
}

// Len returns the number of commands, without those that were refused.
func (p *Pipeline) Len() int { return p.list.Request.Len() }

// IncrBy appends INCRBY key n. Its reply is the new value.
func (p *Pipeline) IncrBy(key string, n int64) Reply {
	if !p.list.Fit() {
		return p.refuse("INCRBY", nil)
	}
	const head = "*3\r\n$6\r\nINCRBY\r\n"
	b := append(p.list.Request.Buffer(), head...)
	b = resp.AppendBulk(b, key)
	b = resp.AppendBulkInt(b, n)
	return p.commit(b, key)
}

// Expire appends EXPIRE key ttl, or PEXPIRE if the ttl is not a whole number of seconds. A ttl
// below a millisecond counts as one; a positive one below a microsecond is an error, because a number
// without a unit counts nanoseconds. A ttl of 0 or less deletes the key. The reply is 1, or 0 if there
// is no such key.
//
// Sent with each hit, it makes the counter of a steady user live forever. For a fixed window use
// [Pipeline.Count], or put the window's number into the key.
func (p *Pipeline) Expire(key string, ttl time.Duration) Reply {
	return p.expire(key, ttl, "")
}

// ExpireNX is Expire for a key that has no time to live yet: EXPIRE key ttl NX. The reply is 1,
// or 0 if the key has a time to live or does not exist. Servers before Redis 7 reply with an
// error.
//
// After the INCRBY of each hit it makes a fixed window that begins with the first hit. If the
// connection breaks between the two, a new key has no time to live. [Pipeline.Count] sets it
// first, on any server.
func (p *Pipeline) ExpireNX(key string, ttl time.Duration) Reply {
	return p.expire(key, ttl, "NX")
}

// expire appends EXPIRE or, for a ttl in milliseconds, PEXPIRE, with an option that may be empty.
func (p *Pipeline) expire(key string, ttl time.Duration, option string) Reply {
	command, n := expiry(ttl)
	if err := unitless(ttl); err != nil || !p.list.Fit() {
		return p.refuse(command, err)
	}
	const words = 3 // without the option
	b := resp.AppendArray(p.list.Request.Buffer(), words+min(len(option), 1))
	b = resp.AppendBulk(b, command)
	b = resp.AppendBulk(b, key)
	b = resp.AppendBulkInt(b, n)
	if option != "" {
		b = resp.AppendBulk(b, option)
	}
	at := p.list.Request.Len()
	pair := p.follows(key) && n > 0 // otherwise it deletes the key
	r := p.commit(b, key)
	if pair {
		p.list.Request.Mark(at, engine.Expiry)
	} else if at > 0 {
		p.list.Request.MarkExpiry(at)
	}
	p.lastAt = 0 // an EXPIRE behind this one may see what it did
	return r
}

// follows reports whether the last command is on the key, as far as the Pipeline has encoded it.
func (p *Pipeline) follows(key string) bool {
	return p.Len() > 0 && p.lastAt == p.Len() && key == p.lastKey
}

// expiry returns the command that sets the time to live, and its number:
// milliseconds if it is not whole seconds, and at least one.
func expiry(ttl time.Duration) (command string, n int64) {
	command, unit := "EXPIRE", time.Second
	if ttl%time.Second != 0 {
		command, unit = "PEXPIRE", time.Millisecond
	}
	if n = int64(ttl / unit); n == 0 && ttl > 0 {
		n = 1
	}
	return command, n
}

func (p *Pipeline) commit(b []byte, key string) Reply {
	if key != p.lastKey || key == "" {
		p.lastKey, p.lastSlot = key, int32(slots.Of(key))
	}
	p.list.Request.Commit(b, p.lastSlot)
	p.lastAt = p.list.Request.Len()
	return Reply(p.list.Last())
}

// Cmd appends any command. It takes the arguments of [cluster.Client.Cmd]. The keys must be in one
// slot. Commands without a key all go to the same node, as with [cluster.Client.Do]. Of a command that
// the library does not know, such as one of a module, the first argument is taken for the key.
//
// A command that cannot be sent gets an error as its reply, and Do then sends nothing.
// [redislanes.ErrShared] refuses commands that may block or change their connection, WAIT and
// WAITAOF.
func (p *Pipeline) Cmd(name string, arguments ...any) Reply {
	if !p.list.Fit() {
		return p.refuse(strings.ToUpper(name), nil)
	}
	encoded, err := args.Append(p.list.Request.Buffer(), name, arguments)
	if err == nil {
		err = p.list.Client().Append(&p.list.Request, encoded)
	}
	if err != nil {
		return p.refuse(strings.ToUpper(name), err)
	}
	return Reply(p.list.Last())
}

// Append appends a radix action of one command, such as radix.Cmd. Its receiver is set when Do
// returns. The same rules hold as for [Pipeline.Cmd]. Whether a command may block depends on its
// arguments, not on its name as in radix. An action that is not one command, such as that of a
// radix.EvalScript, is refused. For scripts see [Pipeline.Eval].
func (p *Pipeline) Append(action radix.Action) Reply {
	if !p.list.Fit() {
		return p.refuse(actionName(action, nil), nil)
	}
	if action == nil {
		return p.refuse("Append", cause.ErrNilAction)
	}
	conn := &p.capture
	*conn = capture{client: p.list.Client(), request: p.list.Request.Buffer()}
	defer conn.forget()
	err := conn.take(action)
	if err == nil {
		err = p.list.Client().Append(&p.list.Request, conn.request)
	}
	if err != nil {
		return p.refuse(actionName(action, conn.request[len(p.list.Request.Buffer()):]), err)
	}
	if conn.into != nil {
		p.list.Receive(conn.into)
	}
	return Reply(p.list.Last())
}

func (p *Pipeline) refuse(name string, err error) Reply { return Reply(p.list.Refuse(name, err)) }

// Do sends the commands and returns when each has a reply or an error, at the latest when the
// context ends. It returns nil if all commands succeeded, and a [redislanes.PipelineError] if some
// failed. If nothing could be sent, for example by a closed client, it may return another error.
// The replies tell which commands succeeded, but not whether a time to live of Count could be set.
//
// An empty pipeline does nothing. If a command was refused when it was appended, nothing is sent.
// A second Do without a Reset is an error and changes nothing.
func (p *Pipeline) Do(ctx context.Context) error {
	if len(p.counts) == 0 || !p.list.Fit() {
		return p.list.Do(ctx, p.how)
	}
	err := p.list.Do(ctx, p.how)
	switch endless := p.endCounts(ctx); {
	case endless == nil:
		return err
	case err == nil:
		return endless
	default:
		return errors.Join(err, endless)
	}
}

// Format describes the Pipeline by its number of commands for every verb of package fmt, which would print
// the commands.
func (p *Pipeline) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "pipeline.Pipeline{%d commands}", p.Len())
}

// Trips returns how many groups of commands the last Do sent, including those for redirects and
// retries.
func (p *Pipeline) Trips() int { return p.list.Request.Trips() }

// A Script is a Lua script for [Pipeline.Eval]. Make it once, with [NewScript]. It is immutable
// and safe for concurrent use.
type Script struct{ text, hash string }

// NewScript returns the script. Nothing is sent.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text: text, hash: hex.EncodeToString(sum[:])}
}

var errNoScript = errors.New("the script is nil or empty: make it with NewScript")

// Eval appends a run of the script. All of its keys must be in one slot. Do sends EVALSHA with the
// script's hash. To a server that does not know the script (NOSCRIPT), it then sends EVAL with the
// text. If a later command of the pipeline is for the same slot, Do sends EVAL at once, so that
// the commands keep their order.
//
// Scripts count as slow unless cluster.Config or [Reply.Fast] says otherwise. They are not
// idempotent unless marked.
func (p *Pipeline) Eval(s *Script, keys []string, args ...string) Reply {
	if !p.list.Fit() {
		return p.refuse("EVALSHA", nil)
	}
	if s == nil || s.text == "" {
		return p.refuse("EVALSHA", errNoScript)
	}
	if err := p.list.Client().AppendScript(&p.list.Request, s.hash, s.text, keys, args); err != nil {
		return p.refuse("EVALSHA", err)
	}
	return Reply(p.list.Last())
}
