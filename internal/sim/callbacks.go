package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// A user is the functions that the client calls. All of them are safe for concurrent use.
type user struct {
	client atomic.Pointer[cluster.Client]
	seen   func(text string) // is given what is logged
	moved  func()            // is called when the map of the slots has changed
	nat    bool              // the client needs other addresses than those that servers name
}

func credentials(context.Context) (username, secret string, err error) { return "", password, nil }

func (u *user) addrMap(addr string) string {
	if u.nat {
		return translated(addr)
	}
	return addr
}

func (u *user) trace() *redislanes.Trace {
	return &redislanes.Trace{TopologyChanged: func([]string, []string, int) {
		if u.client.Load() != nil {
			u.moved()
		}
	}}
}

// Enabled, Handle, WithAttrs and WithGroup are those of a slog.Handler.
func (u *user) Enabled(context.Context, slog.Level) bool { return true }

func (u *user) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	u.seen(text)
	return errors.New("nobody keeps this")
}

func (u *user) WithAttrs([]slog.Attr) slog.Handler { return u }
func (u *user) WithGroup(string) slog.Handler      { return u }
