package wire

import (
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// auth is the step that authenticates a connection which does not begin with HELLO.
func (d dialer) auth() step {
	if d.Username == "" {
		return step{"AUTH", []string{d.Password}, must}
	}
	return step{"AUTH", []string{d.Username, d.Password}, must}
}

// A Restore is the batch that makes a connection as it was after its handshake, whatever its
// user did with it.
type Restore struct {
	*Batch
	steps []step
}

// Restore returns what is to be submitted for that. It authenticates by what the dial did.
func (l *Lane) Restore() *Restore {
	steps := l.restore()
	return &Restore{Question(commandsOf(steps)...), steps}
}

// CredentialsMayChange reports whether Dialer.Credentials returned those of the dial, which may have
// ended since.
func (l *Lane) CredentialsMayChange() bool { return l.mayChange }

// Restored reports whether the connection is as it was, once the batch is complete. Servers
// before 6.2 do not know RESET.
func (r *Restore) Restored() bool {
	for i, s := range r.steps {
		reply, err := r.Reply(i)
		if err != nil || resp.IsError(reply) && !s.need.spares(fate.Of(resp.ErrorText(reply))) {
			return false
		}
	}
	return true
}

// restore returns RESET and the steps of the handshake.
func (d dialer) restore() []step {
	return append([]step{{"RESET", nil, must}}, d.steps()...)
}
