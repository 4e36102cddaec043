package redistest

import (
	"bufio"
	"bytes"

	"github.com/alicebob/miniredis/v2/server"
)

const noAuth = "NOAUTH Authentication required."

// stateOfUnknown returns the state that miniredis keeps of a client that has sent nothing. The
// server must have no hook yet.
func stateOfUnknown(s *server.Server) any {
	p := server.NewPeer(bufio.NewWriter(new(bytes.Buffer)))
	s.Dispatch(p, []string{"PING"})
	return p.Ctx
}

// ghost runs a command in the name of the client with the state, and returns the reply that the
// client does not get.
func (e *Emulated) ghost(node int, state any, cmd string) (reply []byte) {
	var b bytes.Buffer
	p := server.NewPeer(bufio.NewWriter(&b))
	p.Ctx = state
	e.servers[node].Dispatch(p, []string{cmd})
	p.Flush()
	return b.Bytes()
}

// authenticated reports whether the node needs no password from the client. Only miniredis knows,
// and says so in its reply to DISCARD, which does nothing outside of a transaction. A client gets
// into a transaction only when it is authenticated.
func (e *Emulated) authenticated(node int, p *server.Peer) bool {
	if e.clients[p].multi {
		return true
	}
	state := p.Ctx
	if state == nil {
		state = e.unknown
	}
	return !bytes.HasPrefix(e.ghost(node, state, "DISCARD"), []byte("-NOAUTH"))
}

// spoil makes EXEC fail behind a command that was refused, and ends the transaction if that is
// EXEC. miniredis does it at a command without its arguments.
func (e *Emulated) spoil(node int, p *server.Peer, cmd string) {
	switch {
	case p.Ctx == nil:
	case cmd == "EXEC":
		e.ghost(node, p.Ctx, "DISCARD")
	default:
		e.ghost(node, p.Ctx, "GET")
	}
}

// inScript reports whether the command comes from a script, whose keys have
// been checked and which holds miniredis' lock: miniredis runs such commands
// for a peer that it has made, with a context, for them.
func (e *Emulated) inScript(p *server.Peer) bool {
	if _, known := e.peers.Load(p); known {
		return false
	}
	if p.Ctx != nil {
		return true
	}
	e.peers.Store(p, nil)
	p.OnDisconnect(func() {
		e.peers.Delete(p)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.clients, p)
	})
	return false
}
