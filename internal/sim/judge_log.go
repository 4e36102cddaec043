package sim

import (
	"fmt"
	"slices"
	"time"
)

// executed: what was acknowledged was executed once, what failed, was refused or
// not sent never, and what is unknown at most once.
func executed(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if !cmd.Writes {
			return ""
		}
		at := h.executions[cmd.Text]
		least, most := 0, 0
		switch cmd.Outcome {
		case Acked:
			least, most = 1, 1
		case Unknown, Pending:
			most = 1
		}
		if cmd.Twice && (most > 0 || cmd.TTL > 0) {
			most = len(at)
		}
		if len(at) < least || len(at) > most {
			return fmt.Sprintf("%s: executed %d times: %v%s", c.of(i), len(at), cmd.Err, h.told(at))
		}
		return ""
	})
}

// foreign: nothing is executed by a server that is none of the cluster, but for other faults: a
// wrong map vouches for it, or nobody else can be reached when it comes.
func foreign(h *History) string {
	for i := range h.Foreign {
		e, about := &h.Foreign[i], 0
		from := e.At
		for _, f := range h.Faults {
			if f.overlaps(e.At, e.At+1) {
				from = min(from, f.At)
			}
		}
		for _, f := range h.Faults {
			if f.overlaps(from-2*healing, e.At+1) {
				about++
			}
		}
		if about <= 1 {
			return fmt.Sprintf("executed by a server that is none of the cluster: %v", e)
		}
	}
	return ""
}

// replies: each reply belongs to its command, and none is believed that breaks the protocol or
// is larger than the limits. That of a command that writes is the one that the server gave when
// it executed it; a value says whose it is.
func replies(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		switch {
		case cmd.Outcome != Acked:
		case cmd.Writes && !cmd.Twice && h.Beyond[cmd.Text]:
			return fmt.Sprintf("%s: replied %q, but the server's reply could not be believed", c.of(i), short(cmd.Reply))
		case cmd.Name == "GET":
			if cmd.Reply != null && !h.held(cmd, c.Ended) {
				return fmt.Sprintf("%s: replied %q, which its key did not hold", c.of(i), short(cmd.Reply))
			}
		case cmd.Name == "ECHO":
			if "ECHO "+cmd.Reply != cmd.Text {
				return fmt.Sprintf("%s: replied %q", c.of(i), short(cmd.Reply))
			}
		case cmd.Writes && !h.said(cmd):
			return fmt.Sprintf("%s: replied %q, but the server said%s", c.of(i), short(cmd.Reply), h.told(h.executions[cmd.Text]))
		}
		return ""
	})
}

// said reports whether an execution of the command had its reply.
func (h *History) said(cmd *Command) bool {
	return slices.ContainsFunc(h.executions[cmd.Text], func(k int) bool { return h.Log[k].Reply == cmd.Reply })
}

// held reports whether the key held the value at some time until then.
func (h *History) held(cmd *Command, until time.Duration) bool {
	return slices.ContainsFunc(h.executions["SET "+cmd.Key+" "+cmd.Reply], func(k int) bool { return h.Log[k].At <= until })
}

// order: the acknowledged commands of a call took effect in their order, key by
// key, and a value that was read in it is the one that was set before.
func order(h *History) string {
	for _, c := range h.Calls {
		last := make(map[string]int) // by key, the index of the command
		set := make(map[string]int)  // the same of the last SET
		for i := range c.Commands {
			cmd := &c.Commands[i]
			if cmd.Outcome != Acked || cmd.Twice || cmd.Slot < 0 {
				continue
			}
			if k, ok := set[cmd.Key]; ok && cmd.Name == "GET" && !h.Lost[cmd.Key] && h.isOlder(cmd, &c.Commands[k]) {
				return fmt.Sprintf("%s: replied %q behind %q", c.of(i), short(cmd.Reply), short(c.Commands[k].Text))
			}
			if !cmd.Writes || len(h.executions[cmd.Text]) != 1 {
				continue
			}
			if cmd.Name == "SET" {
				set[cmd.Key] = i
			}
			before, ok := last[cmd.Key]
			if ok && h.executions[cmd.Text][0] < h.executions[c.Commands[before].Text][0] {
				return fmt.Sprintf("%s: executed before command %d of its key:%s%s", c.of(i), before,
					h.told(h.executions[cmd.Text]), h.told(h.executions[c.Commands[before].Text]))
			}
			last[cmd.Key] = i
		}
	}
	return ""
}

// isOlder reports whether the value that was read was set before the given one,
// and not afterwards, as by a call that its caller had left.
func (h *History) isOlder(get, set *Command) bool {
	at := h.executions["SET "+get.Key+" "+get.Reply]
	since := h.executions[set.Text]
	return len(at) == 0 || len(since) > 0 && at[len(at)-1] < since[0]
}

// transactions: nobody else's command is executed inside of one.
func transactions(h *History) string {
	for _, c := range h.Calls {
		if c.Kind != transaction {
			continue
		}
		before := -1
		for i := range c.Commands {
			at := h.executions[c.Commands[i].Text]
			if !c.Commands[i].Writes || len(at) == 0 {
				continue
			}
			if before >= 0 && at[0] != before+1 {
				return fmt.Sprintf("%s: is not right behind the one before it:\n    %v\n    %v", c.of(i), &h.Log[before], &h.Log[at[0]])
			}
			before = at[0]
		}
	}
	return ""
}

// transaction is the kind of calls that use MULTI and EXEC.
const transaction = "transaction"

// null is how a null reply is noted.
const null = "(nil)"
