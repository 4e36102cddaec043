package model

import (
	"bytes"
	"fmt"
)

// keysFound is what a server knows of a command's keys before it serves them.
type keysFound struct {
	slot              uint16
	first             []byte
	any, several      bool
	blind             bool // it does not look whether they are there
	missing, existing int
}

// route returns the redirection for a command whose keys the node does not serve,
// or nothing.
func (s *Session) route(cmd *command, args [][]byte, write bool) string {
	if s.n.standalone || cmd.name == "exec" && (s.aborted || s.dirty) && s.n.c.dialect.valkey {
		return ""
	}
	f := keysFound{blind: s.n.c.dialect.valkey && s.multi && (cmd.name != "exec" || s.queues("pubsub"))}
	if cmd.name != "exec" {
		if text := s.look(&f, cmd, args); text != "" {
			return text
		}
	} else if s.multi {
		for _, q := range s.queue {
			if text := s.look(&f, q.cmd, q.args); text != "" {
				return text
			}
		}
	}
	if !f.any {
		return ""
	}
	n := s.n
	owner, mine := int(n.view.owner[f.slot]), false
	if mine = owner == n.index; n.isDown(s.call.now) {
		return errDown
	}
	if to := s.leaving(f.slot, owner); to != nil && f.missing > 0 {
		if f.existing > 0 {
			return errTryAgain
		}
		return fmt.Sprintf("ASK %d %s", f.slot, to.redirect())
	}
	switch {
	case mine:
		return ""
	case n.coming(f.slot) && s.asking:
		if f.several && f.missing > 0 {
			return errTryAgain
		}
		return ""
	case s.readOnly && n.view.primary[n.index] == owner && !write:
		return ""
	}
	return fmt.Sprintf("MOVED %d %s", f.slot, n.c.nodes[owner].redirect())
}

// look looks at the keys of one command, of several in a transaction.
func (s *Session) look(f *keysFound, cmd *command, args [][]byte) string {
	n := s.n
	for _, key := range cmd.keysOf(args) {
		slot := Slot(key)
		switch {
		case !f.any:
			if n.view.owner[slot] < 0 {
				return errUnbound
			}
			f.any, f.slot, f.first = true, slot, key
		case slot != f.slot:
			return errCrossSlot
		case !bytes.Equal(f.first, key):
			f.several = true
		}
		if f.blind || s.leaving(slot, int(n.view.owner[slot])) == nil && !n.coming(slot) {
			continue
		}
		if e := n.keys[string(key)]; e == nil || e.expired(s.call.ms) {
			f.missing++
		} else {
			f.existing++
		}
	}
	return ""
}

// leaving returns where the node knows the slot to be on its way to, away from its
// owner.
func (s *Session) leaving(slot uint16, owner int) *Node {
	switch n := s.n; {
	case owner == n.index:
		return n.leaving(slot)
	case n.c.dialect.valkey && s.readOnly && n.source != nil && owner == n.source.index: // which has told its replicas
		return n.source.leaving(slot)
	}
	return nil
}
