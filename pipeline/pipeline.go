package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// ErrNotPipelinable refuses a command that cannot travel with others: one that
// may block its connection or changes its state (BLPOP, MULTI, WATCH, SELECT,
// SUBSCRIBE, ...). Use cluster.Client.Do, with radix.WithConn for several. It
// wraps lanes.ErrNotSent.
var ErrNotPipelinable = fmt.Errorf("command cannot be pipelined, use Client.Do or radix.WithConn: %w", lanes.ErrNotSent)

// Config is how pipelines are sent. The zero value is the fast way.
type Config struct {
	// Group says which commands travel together. Default cluster.ByNode.
	Group cluster.Grouping

	// Sequential sends a group only when the one before it has its replies.
	// It exists to be compared with.
	Sequential bool

	// Idempotent marks all commands as [Reply.Idempotent] does. INCRBY is not
	// idempotent.
	Idempotent bool
}

// New returns an empty pipeline that sends to the client. An unknown Group is
// an error of Do.
func (c Config) New(client *cluster.Client) *Pipeline {
	return &Pipeline{client: client, how: cluster.How{Group: c.Group, Sequential: c.Sequential}, idempotent: c.Idempotent}
}

// New returns an empty pipeline with the zero Config.
func New(client *cluster.Client) *Pipeline { return Config{}.New(client) }

// A Pipeline is a list of commands that are sent together. Append commands, Do
// it, read the replies, Reset it, and use it again: over a laned pool, a
// pipeline that is used again does not allocate.
//
// It is not safe for concurrent use: one goroutine at a time may use it and
// its replies (the race detector finds those who do not keep to it). Any number
// of pipelines may use one client.
type Pipeline struct {
	client  *cluster.Client
	how     cluster.How
	request cluster.Request

	idempotent bool // all commands are

	generation uint32
	state      state
	refused    []refusal // commands that are not in the request
	err        error     // why nothing could be sent, in Do
	receivers  []receiver

	lastKey  string // of IncrBy or Expire, which usually come in pairs
	lastSlot int32
}

type state uint8

const (
	appending state = iota
	executed
)

// A refusal is why a command will not be sent.
type refusal struct {
	name string
	err  error
}

// A receiver is where the reply of a radix action goes.
type receiver struct {
	command int // in the request
	into    any
	err     error
}

// Reset empties the pipeline. Replies that it gave before are invalid.
func (p *Pipeline) Reset() {
	p.request.Reset()
	p.generation++
	p.state = appending
	p.lastKey, p.err = "", nil
	clear(p.refused)
	clear(p.receivers)
	p.refused, p.receivers = p.refused[:0], p.receivers[:0]
}

// Len returns the number of commands, without those that were refused.
func (p *Pipeline) Len() int { return p.request.Len() }

// IncrBy appends INCRBY key n. Its reply is the new value.
func (p *Pipeline) IncrBy(key string, n int64) Reply {
	const head = "*3\r\n$6\r\nINCRBY\r\n"
	b := append(p.request.Buffer(), head...)
	b = resp.AppendBulk(b, key)
	b = resp.AppendBulkInt(b, n)
	return p.commit(b, key)
}

// Expire appends EXPIRE key ttl, or PEXPIRE if the ttl is not a whole number of
// seconds; less than a millisecond counts as one, and a ttl of 0 or less
// deletes the key. Its reply is 1, or 0 if there is no such key.
func (p *Pipeline) Expire(key string, ttl time.Duration) Reply {
	head := "*3\r\n$6\r\nEXPIRE\r\n"
	name, n := expiry(ttl)
	if name != "EXPIRE" {
		head = "*3\r\n$7\r\nPEXPIRE\r\n"
	}
	b := append(p.request.Buffer(), head...)
	b = resp.AppendBulk(b, key)
	b = resp.AppendBulkInt(b, n)
	return p.commit(b, key)
}

// expiry returns the command that sets the time to live, and its number:
// milliseconds if it is not whole seconds, and at least one.
func expiry(ttl time.Duration) (name string, n int64) {
	name, unit := "EXPIRE", time.Second
	if ttl%time.Second != 0 {
		name, unit = "PEXPIRE", time.Millisecond
	}
	if n = int64(ttl / unit); n == 0 && ttl > 0 {
		n = 1
	}
	return name, n
}

func (p *Pipeline) commit(b []byte, key string) Reply {
	if key != p.lastKey || key == "" {
		p.lastKey, p.lastSlot = key, int32(cluster.Slot(key))
	}
	p.request.Commit(b, p.lastSlot)
	return p.reply(p.request.Len() - 1)
}

// Cmd appends any command. Its keys, which are found by its name, must be in
// one slot; a command without a key goes to any node. One that cannot be sent
// gets an error as its reply, and Do sends nothing.
func (p *Pipeline) Cmd(name string, args ...string) Reply {
	traits := p.client.CommandTraits(name, args)
	slot, err := p.commandSlot(name, args, traits)
	if err != nil {
		return p.refuse(name, err)
	}
	p.request.Commit(resp.AppendCommand(p.request.Buffer(), name, args...), slot)
	return p.marked(traits)
}

func (p *Pipeline) commandSlot(name string, args []string, traits cluster.Traits) (int32, error) {
	switch {
	case name == "":
		return 0, fmt.Errorf("command without a name: %w", lanes.ErrNotSent)
	case traits&(cluster.Blocking|cluster.Stateful) != 0:
		return 0, ErrNotPipelinable
	}
	return p.client.CommandSlot(name, args)
}

// marked makes the reply of the command that was appended last, and marks the
// command by its traits.
func (p *Pipeline) marked(traits cluster.Traits) Reply {
	i := p.request.Len() - 1
	if p.state == appending {
		p.request.Mark(i, traits)
	}
	return p.reply(i)
}

// Append appends a radix action of one command, such as radix.Cmd, whose
// receiver is set when Do returns. The reply may be used as well.
func (p *Pipeline) Append(action radix.Action) Reply {
	name := fmt.Sprintf("%T", action)
	properties := action.Properties()
	if !properties.CanPipeline {
		return p.refuse(name, ErrNotPipelinable)
	}
	slot, err := p.client.KeysSlot(properties.Keys)
	if err != nil {
		return p.refuse(name, err)
	}
	conn := captureConn{client: p.client}
	if err := action.Perform(context.Background(), &conn); err != nil {
		return p.refuse(name, err)
	}
	return p.appendCaptured(&conn, name, slot)
}

func (p *Pipeline) appendCaptured(conn *captureConn, name string, slot int32) Reply {
	n, err := lanes.Commands(conn.encoded, func(int, int) {})
	if err == nil && n != 1 {
		err = fmt.Errorf("action of %d commands, want 1: append them one by one", n)
	}
	if err != nil {
		return p.refuse(name, fmt.Errorf("%w: %w", err, lanes.ErrNotSent))
	}
	name = strings.ToUpper(resp.CommandName(conn.encoded))
	traits := p.client.EncodedTraits(conn.encoded)
	if traits&cluster.Blocking != 0 || lanes.Stateful(conn.encoded) {
		return p.refuse(name, ErrNotPipelinable)
	}
	p.request.Commit(append(p.request.Buffer(), conn.encoded...), slot)
	if conn.into != nil {
		p.receivers = append(p.receivers, receiver{command: p.request.Len() - 1, into: conn.into})
	}
	return p.marked(traits)
}

// reply makes the reply of the command that was appended last.
func (p *Pipeline) reply(i int) Reply {
	if p.idempotent && i >= 0 && p.state == appending {
		p.request.Repeatable(i)
	}
	return Reply{pipeline: p, index: int32(i), generation: p.generation}
}

// refuse notes a command that will not be sent; the indexes of refusals are
// negative.
func (p *Pipeline) refuse(name string, err error) Reply {
	p.refused = append(p.refused, refusal{strings.ToUpper(name), err})
	return p.reply(-len(p.refused))
}

// ErrExecuted says that a pipeline was done twice without a Reset in between,
// which would count twice. Nothing was sent the second time.
var ErrExecuted = errors.New("pipeline: Do was called twice without a Reset")

// Do sends the commands and returns when each has its reply or an error, at
// the latest when the context ends. The error is nil if all commands have a
// reply that is no error, and an [Error] otherwise; the replies tell which
// succeeded. An empty pipeline does nothing. If a command was refused when it
// was appended, nothing is sent.
func (p *Pipeline) Do(ctx context.Context) error {
	if p.state == executed {
		return ErrExecuted
	}
	p.state = executed
	if len(p.refused) > 0 {
		r := p.refused[0]
		return &Error{Failed: len(p.refused), Total: p.Len() + len(p.refused), First: r.error()}
	}
	if err := p.client.Exec(ctx, &p.request, p.how); err != nil {
		p.err = fmt.Errorf("pipeline: %w", err)
		return p.err
	}
	for i := range p.receivers {
		p.receivers[i].receive(p)
	}
	return p.firstError()
}

func (r *receiver) receive(p *Pipeline) {
	raw, err := p.request.Reply(r.command)
	if err != nil {
		return
	}
	r.err = lanes.Unmarshal(raw, r.into)
}

func (p *Pipeline) firstError() error {
	if p.request.Clean() && len(p.receivers) == 0 {
		return nil
	}
	var result *Error
	for i := range p.Len() {
		if err := p.errorOf(i); err != nil {
			if result == nil {
				result = &Error{First: err, Total: p.Len()}
			}
			result.Failed++
		}
	}
	if result == nil {
		return nil
	}
	return result
}

func (p *Pipeline) errorOf(i int) error {
	if _, err := p.request.Reply(i); err != nil {
		return err
	}
	for _, r := range p.receivers {
		if r.command == i {
			return r.err
		}
	}
	return nil
}

// String describes the Pipeline by its number of commands.
func (p *Pipeline) String() string { return fmt.Sprintf("pipeline.Pipeline{%d commands}", p.Len()) }

// Format prints String for every verb: fmt would print the commands.
func (p *Pipeline) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// Trips returns how many groups of commands the last Do sent, with those of
// redirects.
func (p *Pipeline) Trips() int { return p.request.Trips() }
