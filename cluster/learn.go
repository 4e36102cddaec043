package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A commandBook is what servers have told of commands that the table does not
// hold, of modules for example: each is asked for once, by COMMAND INFO, however
// many callers want to know. The zero value is empty.
type commandBook struct {
	mu        sync.Mutex // guards what follows; never held across I/O
	inquiries map[string]*inquiry
}

// An inquiry is what came, or is to come, of asking for one command.
type inquiry struct {
	done chan struct{} // closed when what follows is there
	rule *command.Rule // nil: no server knows the command, or tells
	old  time.Time     // from when on it is asked again; zero: never
}

const (
	maxInquiries = 512 // names come from the program, but may come from its users
	maxName      = 64

	askTime     = time.Second     // for one node
	unknownTime = time.Minute     // a module may be loaded meanwhile
	failedTime  = 2 * time.Second // no node answered
)

// learned returns the command as servers know it, if the table does not. If
// none knows it, none tells, or the answer makes no sense, the command stays as
// it is: its first argument is taken for its key, and only a redirect of that
// slot is followed. The error is that of the context.
func (c *Client) learned(ctx context.Context, cmd command.Command) (command.Command, error) {
	if cmd.Known() {
		return cmd, nil
	}
	name := cmd.Name()
	if name == "" || len(name) > maxName {
		return cmd, nil
	}
	l := c.inquiry(name)
	if l == nil {
		return cmd, nil
	}
	select {
	case <-l.done:
		return cmd.With(l.rule), nil
	default:
	}
	select {
	case <-l.done:
		return cmd.With(l.rule), nil
	case <-ctx.Done():
		return cmd, &CommandError{Command: name, Err: lanes.NotSent("", ctx.Err())}
	}
}

// inquiry returns what is known of the name, asking for it if need be; nil if the
// client is closed.
func (c *Client) inquiry(name string) *inquiry {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	if l := c.book.inquiries[name]; l != nil && !l.outdated() {
		return l
	}
	l := &inquiry{done: make(chan struct{})}
	if !c.begin(func() { c.inquire(name, l) }) {
		return nil
	}
	c.book.makeRoomLocked()
	c.book.inquiries[name] = l
	return l
}

func (l *inquiry) outdated() bool {
	select {
	case <-l.done:
		return !l.old.IsZero() && time.Now().After(l.old)
	default:
		return false
	}
}

// makeRoomLocked forgets an inquiry if there are too many.
func (b *commandBook) makeRoomLocked() {
	if b.inquiries == nil {
		b.inquiries = make(map[string]*inquiry)
	}
	for name := range b.inquiries {
		if len(b.inquiries) < maxInquiries {
			return
		}
		delete(b.inquiries, name) // who waits for it has it
	}
}

// inquire asks one node after the other, that of commands without a key first,
// until one tells.
func (c *Client) inquire(name string, l *inquiry) {
	defer close(l.done)
	t := c.topology.Load()
	const mostNodes = 3
	asked := 0
	for _, n := range append([]*node{t.primary(noKey)}, t.nodes...) {
		if n == nil || asked > 0 && n == t.primary(noKey) {
			continue
		}
		if asked++; asked > mostNodes {
			break
		}
		if rule, answered := c.askNode(n, name); answered {
			if l.rule = rule; rule == nil {
				l.old = time.Now().Add(unknownTime)
			}
			return
		}
	}
	l.old = time.Now().Add(failedTime)
}

// askNode asks one node; answered is false if another one should be asked.
func (c *Client) askNode(n *node, name string) (rule *command.Rule, answered bool) {
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	request := resp.AppendCommand(nil, "COMMAND", "INFO", name)
	call, batch := lanes.NewCall(), new(lanes.Batch)
	batch.Reset(call, request)
	batch.Add(0, len(request))
	lanes.RoundTrip(ctx, n.pool(asPrimary), call, batch)
	reply, err := batch.Reply(0)
	if err != nil {
		return nil, false
	}
	if resp.IsError(reply) { // no right to ask, or not now
		return nil, classify(resp.ErrorText(reply), n.addr).verdict == final
	}
	rule, err = command.ParseInfo(reply, name)
	if err != nil {
		c.cfg.Logger.Warn("cluster: COMMAND INFO makes no sense", "node", n.addr, "command", name, "error", err)
	}
	return rule, true
}

// learnAll finds the slots of the request's commands that the table does not
// hold.
func (c *Client) learnAll(ctx context.Context, r *Request) error {
	for i, m := range r.marks {
		if m&markUnknown == 0 {
			continue
		}
		cmd, err := c.learned(ctx, command.Of(r.command(i)))
		if err != nil {
			return err
		}
		slot, traits, err := c.judge(cmd)
		if err != nil {
			return &CommandError{Command: cmd.Name(), Err: err}
		}
		r.slots[i] = slot
		r.Mark(i, traits)
	}
	return nil
}

// begin runs the task as one that Close waits for; false if the client is closed.
func (c *Client) begin(task func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(task)
	return true
}
