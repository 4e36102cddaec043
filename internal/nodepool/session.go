package nodepool

import (
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A session is what the commands of one user have done to a connection, as far
// as its next user is concerned. The zero value is a connection as it was lent.
// Whatever is not known for certain makes it unclean: closing a connection costs
// a dial, and lending an unclean one gives somebody QUEUED for a command that
// never runs. By their names alone, MULTI and UNWATCH looked clean.
type session struct {
	multi   bool // in a transaction: commands are queued
	watches bool // keys are watched
	forNext bool // ASKING or the like holds for the next command, or for the transaction
	unclean bool // for good
}

// clean reports whether the next user finds the connection as this one did.
func (s session) clean() bool { return s == session{} }

// An answer is what the server made of a command, as far as its reply tells.
type answer uint8

const (
	ran     answer = iota // any other reply
	null                  // null, which EXEC gives if a watched key has changed
	queued                // QUEUED
	failed                // an error
	aborted               // the error EXECABORT
	beyond                // the command ran, or failed: the reply was beyond the limits and not kept, or is an error that a proxy made up
	none                  // no reply came, though the command was sent
)

// answerOf classifies a complete reply; nil is one that did not come.
func answerOf(reply []byte) answer {
	switch {
	case reply == nil:
		return none
	case resp.IsError(reply) && wire.MayHaveRun(resp.ErrorText(reply)):
		return beyond
	case resp.IsExecAbort(reply):
		return aborted
	case resp.IsError(reply):
		return failed
	case resp.IsNull(reply):
		return null
	case string(resp.SkipAttributes(reply)) == "+QUEUED\r\n":
		return queued
	}
	return ran
}

// after returns the session once the server has answered the command. The rules
// are those of "Transactions" in the manual of Redis: EXEC and DISCARD end a
// transaction and unwatch all keys; UNWATCH inside of one is only queued; an
// error means that nothing has changed, unless it is one to EXEC: EXECABORT says that
// the transaction is discarded, as DISCARD does it (execCommandAbort in the server's
// source); others do not say.
func (s session) after(c command.Command, a answer) session {
	next, known := s.transaction(c.Effect(), a)
	if s.unclean || !known || !c.Known() {
		return session{unclean: true}
	}
	return next
}

// transaction returns the session after a command with the effect. It is not
// known if the command changes more than the transaction, or if the answer is
// not one that the server gives in this state.
func (s session) transaction(e command.Effect, a answer) (next session, known bool) {
	done, refused := a == ran || a == null, a == failed || a == aborted
	switch {
	case e > command.ForNext:
		return s, false
	case a == beyond:
		return s.used(e), e == command.NoEffect && !s.multi
	case e == command.EndsTransaction && (s.multi || a == aborted):
		return session{}, done || a == aborted
	case e == command.EndsTransaction, refused:
		return s.used(e), refused
	case e == command.OpensTransaction:
		s.multi, known = true, !s.multi && done
		return s, known // ASKING holds until EXEC, too (resetClient in the server's source)
	case s.multi && e != command.Watches:
		return s, a == queued
	case e == command.Watches:
		known, s.watches = !s.multi && done, true
	case e == command.Unwatches:
		known, s.watches = done, false
	default:
		known = done
	}
	return s.used(e), known
}

// used returns the session after a command that what holds for the next command
// was for, or that is such a one itself.
func (s session) used(e command.Effect) session {
	s.forNext = s.multi && s.forNext || e == command.ForNext
	return s
}
