package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/args"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// Commands are the commands of a program's pipeline, in the order in which it appended
// them, and their replies after [Commands.Do]. The zero value has no client and refuses
// everything. They are not safe for concurrent use.
type Commands struct {
	client     *Client
	state      state
	generation uint32
	err        error      // why Do has sent nothing
	receivers  []receiver // in the order of their commands
	decode     Decode     // for receivers

	Request Request // its first fields are read together with those above

	refused []error // of commands that are not in the Request
}

type state uint8

const (
	clientless state = iota
	appending
	executed
)

// A receiver is where the reply of a radix action goes.
type receiver struct {
	command int // in the Request
	into    any
	err     error
}

var (
	errLate = fmt.Errorf("command appended after Do: %w: %w", cause.ErrExecuted, redislanes.ErrNotSent)

	// ErrNoClient is why a pipeline or Counters refuse everything.
	ErrNoClient = fmt.Errorf("made without a client, use New with the client that cluster.Config.New returned: %w", redislanes.ErrNotSent)
)

// A Decode decodes replies into what into points to.
type Decode func(replies []byte, into any) error

// NewCommands returns an empty list for the client, which New may not have made. decode is for the
// receivers of [Commands.Receive].
func NewCommands(client *Client, idempotent bool, decode Decode) Commands {
	c := Commands{client: client, decode: decode}
	if client.Made() {
		c.state = appending
	}
	if idempotent {
		c.Request.every = Repeatable
	}
	return c
}

// Client returns the client that the commands are for.
func (c *Commands) Client() *Client { return c.client }

// Fit reports whether a command can be appended now.
func (c *Commands) Fit() bool { return c.state == appending }

// Last returns the reply of the command that was added to the Request last.
func (c *Commands) Last() Reply { return Reply{c, int32(c.Request.Len() - 1), c.generation} }

// Receive has Do decode the reply of the last command into what into points to.
func (c *Commands) Receive(into any) {
	c.receivers = append(c.receivers, receiver{command: c.Request.Len() - 1, into: into})
}

// Refuse notes a command that will not be sent, because of err or, without one, because none can be appended now. The
// indexes of refusals are negative.
func (c *Commands) Refuse(name string, err error) Reply {
	if err == nil {
		if err = errLate; c.state == clientless {
			err = ErrNoClient
		}
	}
	if !errors.Is(err, redislanes.ErrNotSent) { // an action's own
		err = fmt.Errorf("%w: %w", err, redislanes.ErrNotSent)
	}
	c.refused = append(c.refused, wire.Named(name, "", err))
	return Reply{of: c, index: int32(-len(c.refused)), generation: c.generation}
}

// Reset removes all commands. Replies that were given before are invalid.
func (c *Commands) Reset() {
	c.Request.Reset()
	c.generation++
	if c.state != clientless {
		c.state = appending
	}
	c.err = nil
	clear(c.refused)
	clear(c.receivers)
	c.refused, c.receivers = c.refused[:0], c.receivers[:0]
}

// fail notes why nothing was sent.
func (c *Commands) fail(err error) {
	if c.err = err; !strings.HasPrefix(err.Error(), "redislanes: ") {
		c.err = fmt.Errorf("redislanes: %w", err)
	}
}

// Do sends the commands and returns when each has its reply or an error. See
// pipeline.Pipeline.Do.
func (c *Commands) Do(ctx context.Context, how How) error {
	switch {
	case c.state == clientless:
		return fmt.Errorf("pipeline: Do: %w", ErrNoClient)
	case c.state == executed:
		return fmt.Errorf("pipeline: Do: %w", cause.ErrExecuted)
	case ctx == nil:
		return fmt.Errorf("pipeline: Do: %w", cause.ErrNilContext)
	}
	c.state = executed
	if len(c.refused) > 0 {
		first := c.refused[0]
		c.err = cause.Hidden("redislanes: not sent, because of another command: "+strings.TrimPrefix(first.Error(), "redislanes: "), first)
		n := c.Request.Len() + len(c.refused)
		return &redislanes.PipelineError{Failed: n, Total: n, First: first} // nothing is sent
	}
	if err := c.client.Exec(ctx, &c.Request, how); err != nil {
		c.fail(err)
		return c.err
	}
	for i := range c.receivers {
		c.receivers[i].receive(&c.Request, c.decode)
	}
	if c.Request.clean && len(c.receivers) == 0 {
		return nil
	}
	return c.firstError()
}

// receive gives the receiver its reply. One that takes errors as values, such as
// resp3.RawMessage, gets an error of the server, too, which is the command's
// error all the same (errorOf).
func (r *receiver) receive(of *Request, decode Decode) {
	if raw := of.Raw(r.command); raw != nil {
		if r.err = decode(raw, r.into); errors.Is(r.err, redislanes.ErrDecode) {
			r.err = of.Undecodable(r.command, r.err)
		}
	}
}

func (c *Commands) firstError() error {
	var result *redislanes.PipelineError
	for i := range c.Request.Len() {
		if err := c.errorOf(i); err != nil {
			if result == nil {
				result = &redislanes.PipelineError{First: err, Total: c.Request.Len()}
			}
			result.Failed++
		}
	}
	if result == nil {
		return nil
	}
	return result
}

func (c *Commands) errorOf(i int) error {
	if _, err := c.Request.Reply(i); err != nil {
		return err
	}
	at, ok := slices.BinarySearchFunc(c.receivers, i, func(r receiver, i int) int { return r.command - i })
	if !ok {
		return nil
	}
	return c.receivers[at].err
}

// Cmd is cluster.Client.Cmd.
func (c *Client) Cmd(ctx context.Context, name string, arguments []any) Reply {
	list := NewCommands(c, false, nil)
	encoded, err := args.Append(nil, name, arguments)
	if err == nil {
		err = c.Usable(ctx)
	}
	if err == nil {
		if err = c.Append(&list.Request, encoded); errors.Is(err, cause.ErrNotPipelinable) {
			err = c.AppendOwn(&list.Request, encoded)
		}
	}
	reply := Reply{of: &list}
	if err != nil {
		reply = list.Refuse(strings.ToUpper(name), err)
	} else {
		_ = list.Do(ctx, How{})
	}
	list.state = executed
	return reply
}

// A Reply is the place of a command in [Commands]. Package cluster has its documentation
// and its decoding.
type Reply struct {
	of         *Commands
	index      int32
	generation uint32
}

// Raw returns the reply as it came from the server, or the command's error.
func (r Reply) Raw() ([]byte, error) {
	c := r.of
	switch {
	case c == nil:
		return nil, cause.ErrPending
	case c.generation != r.generation:
		return nil, cause.ErrStale
	case r.index < 0:
		return nil, c.refused[-r.index-1]
	case c.state != executed:
		return nil, cause.ErrPending
	case c.err != nil:
		return nil, c.err
	}
	return c.Request.Reply(int(r.index))
}

// Err returns why the command failed, also if its reply could not be decoded into its
// receiver.
func (r Reply) Err() error {
	if _, err := r.Raw(); err != nil {
		return err
	}
	return r.of.errorOf(int(r.index))
}

// Undecodable names the command and the node in the error of decoding its reply.
func (r Reply) Undecodable(err error) error {
	return r.of.Request.Undecodable(int(r.index), err)
}

// Node returns the address of the node that the command was sent to last.
func (r Reply) Node() string { return r.of.Request.Node(int(r.index)) }

// Repeatable marks the command as [Repeatable], if the command was not sent yet.
func (r Reply) Repeatable() {
	if r.markable() {
		r.of.Request.Mark(int(r.index), Repeatable)
	}
}

// SetSlow is [Request.SetSlow], if the command was not sent yet.
func (r Reply) SetSlow(slow bool) {
	if r.markable() {
		r.of.Request.SetSlow(int(r.index), slow)
	}
}

// markable reports whether the command is in the request and was not sent yet.
func (r Reply) markable() bool {
	c := r.of
	return c != nil && c.generation == r.generation && r.index >= 0 && c.state == appending
}
