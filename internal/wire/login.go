package wire

import (
	"context"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A Login is what Dialer.Credentials has returned, by which connections that are open
// are authenticated again.
type Login struct{ settings dialer }

// AskLogin asks Dialer.Credentials, for Dialer.Timeout at most. The Login is nil if
// they are empty.
func AskLogin(ctx context.Context, d lanes.Dialer) (*Login, error) {
	settings := dialer{Dialer: WithDefaults(d)}
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	err := settings.askCredentials(ctx)
	if err != nil || settings.Username+settings.Password == "" {
		return nil, err
	}
	return &Login{settings}, nil
}

// Question returns a batch with AUTH.
func (l *Login) Question() *Batch { return Question(commandsOf([]step{l.settings.auth()})...) }

// Refusal returns what the server says against the credentials in its reply to AUTH, a
// redislanes.HandshakeError that does not show them; nil if it takes them.
func (l *Login) Refusal(reply []byte) error {
	if !resp.IsError(reply) {
		return nil
	}
	return l.settings.refusal(l.settings.auth(), reply)
}

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

// Restore returns what is to be submitted for that. It authenticates by the login; nil: by what
// the dial did.
func (l *Lane) Restore(login *Login) *Restore {
	steps := l.restore(login)
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
func (d dialer) restore(login *Login) []step {
	if login != nil {
		d.Username, d.Password = login.settings.Username, login.settings.Password
	}
	return append([]step{{"RESET", nil, must}}, d.steps()...)
}
