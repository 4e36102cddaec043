package redistest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// hook answers in the node's place what a node of a cluster answers
// differently, and reports whether it did. It is not atomic with the command:
// do not move slots that are written to at the same time.
func (e *Emulated) hook(node int, p *server.Peer, cmd string, args []string) bool {
	keys := commandKeys(cmd, args)
	if e.inScript(p) {
		refusal := e.refusalInScript(node, cmd, args, keys)
		if refusal != "" {
			p.WriteError(refusal)
		}
		return refusal != ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch cmd {
	case "CLUSTER", "ASKING", "READONLY", "READWRITE":
		return e.clusterCommand(node, p, cmd, args)
	}
	refusal := e.refusal(node, p, cmd, args, keys)
	e.clients[p] = e.clients[p].after(cmd, keys, refusal != "")
	if refusal != "" {
		e.spoil(node, p, cmd)
		if strings.HasSuffix(refusal, "\r\n") {
			p.WriteRaw(refusal)
		} else {
			p.WriteError(refusal)
		}
		return true
	}
	e.calls[node][cmd]++
	return false
}

// clusterCommand answers the commands that only a cluster knows.
func (e *Emulated) clusterCommand(node int, p *server.Peer, cmd string, args []string) bool {
	if !e.authenticated(node, p) {
		p.WriteError(noAuth)
		return true
	}
	if cmd == "CLUSTER" {
		return e.cluster(node, p, args)
	}
	p.WriteOK()
	return true
}

// refusal returns the error for a command that the node does not run.
func (e *Emulated) refusal(node int, p *server.Peer, cmd string, args, keys []string) string {
	if f := e.inject[node]; f != nil {
		if text := f(cmd, args); text != "" {
			return text
		}
	}
	if cmd == "EXEC" {
		keys = e.clients[p].queued
	}
	text := e.redirect(node, keys)
	if text == "" {
		text = otherDatabase(cmd, args)
	}
	hello := cmd == "HELLO" && !slices.ContainsFunc(args, func(arg string) bool { return strings.EqualFold(arg, "AUTH") })
	if (text != "" || hello || cmd == "MULTI") && !e.authenticated(node, p) {
		return noAuth
	}
	return text
}

// otherDatabase returns the error for a command that uses a database other than 0.
func otherDatabase(cmd string, args []string) string {
	refused := false
	switch cmd {
	case "SELECT":
		refused = len(args) == 1 && isNumber(args[0]) && args[0] != "0"
	case "MOVE", "SWAPDB":
		refused = len(args) == 2
	}
	if refused {
		return "ERR " + cmd + " is not allowed in cluster mode"
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// A client is what its last commands were.
type client struct {
	multi  bool     // MULTI
	queued []string // the keys of the commands behind MULTI
}

// after returns what the client is behind one more command. A command that was refused does
// nothing, but EXEC ends the transaction in any case.
func (c client) after(cmd string, keys []string, refused bool) client {
	switch {
	case cmd == "EXEC", !refused && (cmd == "DISCARD" || cmd == "RESET"):
		return client{}
	case !refused && cmd == "MULTI":
		c.multi = true
	case c.multi && !refused:
		c.queued = append(c.queued, keys...)
	}
	return c
}
