package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A commandCache is what servers have told of commands that the table does not
// hold, of modules for example: each is asked for once, by COMMAND INFO, however
// many callers want to know. The zero value is empty.
type commandCache struct {
	mu      sync.Mutex // guards what follows; never held across I/O
	lookups map[string]*lookup
}

// A lookup is what servers say of one command, once done is closed.
type lookup struct {
	done    chan struct{} // closed when what follows is there
	rule    *command.Rule // nil: no server knows the command, or tells
	expires time.Time     // when servers are asked again; zero: never

	failed bool // no node answered
	slow   bool // nor said why: connections are busy, or a server's silence has not been noticed yet
}

// learned returns the command as servers know it, if the table does not. If no server knows it
// or tells, or the answer makes no sense, the command stays as it is: its first argument is
// taken for its key, and only a redirect of that slot is followed. While no node answers, the
// command is asked for again, within Config.RetryWindow since the call's first lookup failed. A node
// that is slow to answer is no outage: the command itself would wait for that node. The error is that
// of the context.
func (c *Client) learned(ctx context.Context, cmd command.Command) (command.Command, error) {
	if cmd.Known() || c.cfg.Standalone { // a proxy may hang up when it is asked for COMMAND
		return cmd, nil
	}
	name := cmd.Name()
	if name == "" || len(name) > maxAskedName {
		return cmd, nil
	}
	var since time.Time
	var left time.Duration
	for tries := 1; ; tries++ {
		l := c.lookup(name)
		if l == nil {
			return cmd, nil
		}
		err := l.wait(ctx)
		if err == nil {
			if !l.failed {
				return cmd.With(l.rule), nil
			}
			if c.ctx.Err() != nil {
				return cmd, nil // it will be refused
			}
			now := time.Now()
			if tries == 1 {
				left, since = timeLeft(ctx, now), now
			}
			if l.slow {
				since = now
			}
			met := attempt.Outage{Since: since, Silent: true}
			if !met.MayRetry(now, left, c.cfg.RetryWindow) {
				return cmd, nil
			}
			err = c.wait(ctx, attempt.Backoff(tries, met.Left(now, c.cfg.RetryWindow)), nil)
		}
		if err != nil {
			return cmd, wire.Named(name, "", wire.NotSent("", err))
		}
	}
}

// told returns the command as servers have described it so far. Unlike learned it does not wait: its
// caller may hold the only connection over which a server could be asked. For an unknown command it
// starts a lookup, for the next caller.
func (c *Client) told(cmd command.Command) command.Command {
	name := cmd.Name()
	if cmd.Known() || c.cfg.Standalone || name == "" || len(name) > maxAskedName {
		return cmd
	}
	if l := c.lookup(name); l != nil {
		select {
		case <-l.done:
			return cmd.With(l.rule) // none if no node has answered
		default:
		}
	}
	return cmd
}

// waits returns how long the commands may wait for data, one after the other.
func (c *Client) waits(commands [][]byte) (wait time.Duration) {
	for _, encoded := range commands {
		wait += min(c.told(command.Of(encoded)).Waits(), command.Endless-wait)
	}
	return wait
}

// wait returns when the lookup has ended, at the latest when the context ends.
func (l *lookup) wait(ctx context.Context) error {
	select {
	case <-l.done: // also if the context has ended
		return nil
	default:
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookup returns what is known of the name, asking for it if need be; nil if the
// client is closed.
func (c *Client) lookup(name string) *lookup {
	c.commands.mu.Lock()
	defer c.commands.mu.Unlock()
	before := c.commands.lookups[name]
	if before != nil && !before.outdated() {
		return before
	}
	l := &lookup{done: make(chan struct{})}
	if !c.begin(func() { c.askNodes(name, l) }) {
		return nil
	}
	c.commands.makeRoomLocked()
	c.commands.lookups[name] = l
	return l
}

func (l *lookup) outdated() bool {
	select {
	case <-l.done:
		return !l.expires.IsZero() && time.Now().After(l.expires)
	default:
		return false
	}
}

// makeRoomLocked forgets a lookup if there are too many.
func (b *commandCache) makeRoomLocked() {
	if b.lookups == nil {
		b.lookups = make(map[string]*lookup)
	}
	for name := range b.lookups {
		if len(b.lookups) < maxLookups {
			return
		}
		delete(b.lookups, name) // its callers hold it
	}
}

// askNodes asks one node after the other until one tells. The next one is asked as soon as the
// last has failed or is slow. If none tells, the lookup is outdated at once.
func (c *Client) askNodes(name string, l *lookup) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	nodes := c.infoNodes()
	answers := make(chan infoAnswer, len(nodes))
	stagger := time.NewTimer(0)
	defer stagger.Stop()
	asked := 0
	for failed := 0; failed < len(nodes); {
		var more <-chan time.Time
		if asked < len(nodes) {
			more = stagger.C
		}
		select {
		case <-more:
			n := nodes[asked]
			asked++
			c.tasks.Go(func() { answers <- c.askNode(ctx, n, name) })
			stagger.Reset(infoStagger)
		case a := <-answers:
			if a.answered {
				if l.rule = a.rule; a.rule == nil {
					l.expires = time.Now().Add(unknownTime)
				}
				return
			}
			failed++
			stagger.Reset(0)
		case <-ctx.Done():
			l.slow = true
			failed = len(nodes)
		}
	}
	l.failed, l.expires = true, time.Now()
}

// infoNodes returns the nodes to ask: the node of commands without a key and two
// others, first those that are neither down nor suspect.
func (c *Client) infoNodes() []*node {
	t := c.topology.Load()
	var nodes []*node
	if home := t.Primary(slots.NoKey); home != nil {
		nodes = append(nodes, home)
	}
	for _, n := range t.Nodes {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	silent := c.silentNodes()
	slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(silent[a.addr], silent[b.addr]) })
	return nodes[:min(maxInfoNodes, len(nodes))]
}

// An infoAnswer is what a node says of a command; if it has not answered, another one
// should be asked.
type infoAnswer struct {
	rule     *command.Rule
	answered bool
}

func (c *Client) askNode(ctx context.Context, n *node, name string) infoAnswer {
	reply, err := wire.Ask(ctx, n.pool(asPrimary), []string{"COMMAND", "INFO", name}).Reply(0)
	if err != nil {
		c.noteFailure(err)
		return infoAnswer{}
	}
	c.noteReplies(reply)
	if resp.IsError(reply) { // no right to ask, or not now
		return infoAnswer{answered: !refusedForNow(reply, false)}
	}
	rule, err := command.ParseInfo(reply, name)
	if err != nil {
		c.journal.Note(guard.InfoNotRead, n.addr, name, err)
	}
	return infoAnswer{rule: rule, answered: true}
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
		slot, several, traits, err := c.judge(cmd)
		if err != nil {
			return wire.Named(cmd.Name(), "", err)
		}
		r.slots[i], r.several = slot, r.several || several
		r.Mark(i, traits&^command.Slow) // which Append has looked at, and the program may have changed
		if cmd.Known() {
			r.marks[i] &^= markUnknown
		}
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
