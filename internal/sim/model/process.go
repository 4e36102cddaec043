package model

import (
	"strings"
	"time"
)

// A call is one execution of a command.
type call struct {
	s    *Session
	n    *Node
	cmd  *command
	args [][]byte
	now  time.Time
	ms   int64 // now
	*reply

	nested   bool // in EXEC or a script: it does not wait
	returned bool // of a script: its error is a value that it returns
}

func (c *call) find(key []byte) *entry { return c.n.find(key, c.ms) }
func (c *call) wrongArity()            { c.errorf("ERR wrong number of arguments for '%s' command", c.cmd.name) }

// typed is find for commands of one kind of value; false if it has replied that
// the key holds another.
func (c *call) typed(key []byte, k kind) (*entry, bool) {
	e := c.find(key)
	if e != nil && e.kind != k {
		c.err(errWrongType)
		return nil, false
	}
	return e, true
}

// held is typed for the first key, with an empty value where there is none.
func (c *call) held(k kind) (*entry, bool) {
	e, ok := c.typed(c.args[1], k)
	if e == nil {
		e = &entry{kind: k}
	}
	return e, ok
}

// held makes a command of what it does with the value of its first key, an empty one where there
// is none.
func held(k kind, run func(c *call, e *entry)) func(*call) {
	return func(c *call) {
		if e, ok := c.held(k); ok {
			run(c, e)
		}
	}
}

// sized makes a command that replies how large the value is.
func sized(k kind) func(*call) { return held(k, func(c *call, e *entry) { c.int(int64(e.size())) }) }

// integer reads an argument; false if it has replied that it is none.
func (c *call) integer(b []byte) (int64, bool) {
	n, ok := parseInt(b)
	if !ok {
		c.err(errNotInteger)
	}
	return n, ok
}

// integers reads two arguments in the same way.
func (c *call) integers(b, d []byte) (m, n int64, ok bool) {
	if m, ok = c.integer(b); ok {
		n, ok = c.integer(d)
	}
	return m, n, ok
}

// process does what a server does with a command of a client: the checks in its
// order, then it runs or queues it.
func (s *Session) process(args [][]byte, now time.Time) *parked {
	s.call.n, s.call.reply, s.call.nested = s.n, &s.out, false
	s.call.now, s.call.ms = now, now.UnixMilli()
	cmd := s.n.lookup(args)
	defer func() { // MULTI keeps what ASKING said, up to its end
		if !s.multi && (cmd == nil || cmd.name != "asking") {
			s.asking = false
		}
	}()
	if refusal := s.n.refusesStep(cmd, args); refusal != "" {
		s.refuse(cmd, refusal)
		return nil
	}
	if refusal := s.refusal(cmd, args); refusal != "" {
		s.refuse(cmd, refusal)
		return nil
	}
	if refusal := s.n.pausedFor(s, cmd, now); refusal {
		return s.n.postpone(s, args)
	}
	if s.multi && !runsInMulti[cmd.name] {
		if !s.aborted && !s.dirty {
			s.queue = append(s.queue, queued{cmd, args})
		}
		s.out.status("QUEUED")
		return nil
	}
	s.call.cmd, s.call.args = cmd, args
	return s.call.execute()
}

// runsInMulti are the commands that MULTI does not queue.
var runsInMulti = map[string]bool{"exec": true, "discard": true, "multi": true, "watch": true, "quit": true, "reset": true}

// runsWithoutMemory are the commands that a server without memory runs in a
// transaction.
var runsWithoutMemory = map[string]bool{"exec": true, "discard": true, "quit": true, "reset": true}

// refusal returns why the server refuses the command, or nothing.
func (s *Session) refusal(cmd *command, args [][]byte) string {
	n, text := s.n, cmd.refuse(s.n, args)
	stranger := n.password != "" && !s.authed && (cmd == nil || !cmd.flags["no_auth"])
	switch {
	case stranger && (text == "" || n.c.dialect.valkey):
		return errNoAuth
	case text != "":
		return text
	case s.multi && cmd.flags["no_multi"]:
		return "ERR Command '" + cmd.name + "' not allowed inside a transaction"
	}
	write := cmd.write || cmd.name == "exec" && s.queues("write")
	if cmd.routed() {
		if text := s.route(cmd, args, write); text != "" {
			if cmd.name == "exec" {
				s.discard()
				return redirected + text
			}
			return text
		}
	}
	oom := n.oom && (cmd.denyOOM || s.multi && !n.c.dialect.newer && !runsWithoutMemory[cmd.name] || cmd.name == "exec" && s.queues("denyoom"))
	switch {
	case oom:
		return errOOM
	case write && n.noReplicas && n.source == nil:
		return errNoReplicas
	case write && n.source != nil:
		return errReadOnly
	case len(s.channels) > 0 && s.out.resp == 2 && !runsWhenSubscribed[cmd.name]:
		return "ERR Can't execute '" + cmd.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
	case n.masterDown && n.source != nil && !cmd.flags["stale"]:
		return errMasterDown
	case s.call.now.Before(n.loadingUntil) && !cmd.flags["loading"]:
		return errLoading
	case n.busy && !cmd.flags["allow_busy"]:
		return string(IsBusy)
	}
	return ""
}

var runsWhenSubscribed = map[string]bool{
	"ping": true, "subscribe": true, "unsubscribe": true, "quit": true, "reset": true,
}

// redirected marks a refusal of EXEC that is not wrapped in EXECABORT.
const redirected = "\x00"

// refuse replies a refusal, and spoils the transaction in which it was.
func (s *Session) refuse(cmd *command, text string) {
	text = s.out.dialect.said(text)
	switch {
	case text[0] == redirected[0]:
		text = text[1:]
	case cmd != nil && cmd.name == "exec":
		s.discard()
		text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
	case s.multi:
		s.aborted = true
	}
	s.out.err(text)
}

// execute runs the command, tells the judges, and returns what to wait for.
func (c *call) execute() *parked {
	from := len(c.b)
	if c.cmd.flags["blocking"] {
		if p := c.block(); p != nil {
			return p
		}
	} else {
		c.cmd.run(c)
	}
	c.tell(from)
	return nil
}

// tell calls the hook for a command with keys, and those that change all of them.
func (c *call) tell(from int) {
	if f := c.n.c.opts.Executed; f != nil && (c.cmd.first != 0 || c.cmd.keys != nil || c.cmd.write) && c.cmd.name != "watch" {
		f(Execution{At: c.now, Node: c.n, Conn: c.s.id, Args: c.args, Reply: c.b[from:], Replica: c.n.source != nil, Foreign: c.n.own != nil})
	}
}
