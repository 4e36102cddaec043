package model

import "time"

// An Interposer changes the replies of a node: it is given a command, its reply, and
// the version of RESP, and returns what is sent in its place. It runs under the cluster's
// lock.
type Interposer func(args [][]byte, reply []byte, resp int) (instead []byte)

// Interpose lets the function change the replies to commands with keys, outside of
// transactions, and those to EXEC; nil ends it.
func (n *Node) Interpose(f Interposer) { n.lock(func(time.Time) { n.interposed = f }) }

// interpose changes the reply to the command, which begins there.
func (s *Session) interpose(args [][]byte, from int) {
	f := s.n.interposed
	if f == nil || s.multi || len(s.out.b) == from {
		return
	}
	cmd := s.n.lookup(args)
	if cmd == nil || cmd.first == 0 && cmd.keys == nil && cmd.name != "exec" {
		return
	}
	s.out.b = append(s.out.b[:from:from], f(args, s.out.b[from:], s.out.resp)...)
}
