package wire

import (
	"context"

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

// Command returns the encoded AUTH.
func (l *Login) Command() []byte {
	auth := l.settings.auth()
	return resp.AppendCommand(nil, auth.name, auth.args...)
}

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
