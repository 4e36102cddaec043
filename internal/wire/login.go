package wire

import (
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// auth is the greeting that authenticates a connection which does not begin with HELLO.
func (d dialer) auth() greeting {
	if d.Username == "" {
		return greeting{"AUTH", []string{d.Password}, must}
	}
	return greeting{"AUTH", []string{d.Username, d.Password}, must}
}

// A Restore is the batch that makes a connection as it was after its handshake, whatever its
// user did with it.
type Restore struct {
	*Batch
	greetings []greeting
}

// Restore returns what is to be submitted for that. It authenticates by what the dial did.
func (l *Lane) Restore() *Restore {
	greetings := l.restore()
	return &Restore{Question(commandsOf(greetings)...), greetings}
}

// CredentialsMayChange reports whether Dialer.Credentials returned those of the dial, which may have
// ended since.
func (l *Lane) CredentialsMayChange() bool { return l.mayChange }

// Restored reports whether the connection is as it was, once the batch is complete. Servers
// before 6.2 do not know RESET.
func (r *Restore) Restored() bool {
	for i, g := range r.greetings {
		reply, err := r.Reply(i)
		if err != nil || resp.IsError(reply) && !g.need.spares(fate.Of(resp.ErrorText(reply))) {
			return false
		}
	}
	return true
}

// restore returns RESET and the greetings of the handshake.
func (d dialer) restore() []greeting {
	return append([]greeting{{"RESET", nil, must}}, d.greetings()...)
}
