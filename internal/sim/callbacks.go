package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// A user is the functions that the client calls. At times they panic. All of them are safe for
// concurrent use.
type user struct {
	seed      uint64
	panicking atomic.Bool
	calls     atomic.Uint64
	client    atomic.Pointer[cluster.Client]
	seen      func(text string) // is given what is logged
	moved     func()            // is called when the map of the slots has changed
	nat       bool              // the client needs other addresses than those that servers name
	password  func() string     // the one that is right now
}

// behave panics in one call of eight, while functions do.
func (u *user) behave() {
	if u.panicking.Load() && mix(u.seed^u.calls.Add(1))%8 == 0 {
		panic("a user's function panics")
	}
}

func (u *user) strategy(s lanes.Strategy) lanes.Strategy {
	return func(set *lanes.Set, key int64) int {
		u.behave()
		return s(set, key)
	}
}

func (u *user) credentials(context.Context) (username, password string, err error) {
	u.behave()
	return "", u.password(), nil
}

func (u *user) addrMap(addr string) string {
	u.behave()
	if u.nat {
		return translated(addr)
	}
	return addr
}

// trace returns functions that behave as the user does.
func (u *user) trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest: func(ctx context.Context, _ redislanes.RequestStart) context.Context {
			u.behave()
			return ctx
		},
		EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { u.behave() },
		BeginGroup: func(ctx context.Context, _ redislanes.GroupStart) context.Context {
			u.behave()
			return ctx
		},
		EndGroup:   func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { u.behave() },
		PoolOpened: func(*redislanes.PoolInfo) { u.behave() },
		PoolClosed: func(*redislanes.PoolInfo) { u.behave() },
		Waited:     func(redislanes.WaitInfo) { u.behave() },
		Dialed:     func(redislanes.DialInfo) { u.behave() },
		ConnClosed: func(redislanes.CloseInfo) { u.behave() },
		TopologyChanged: func(redislanes.TopologyChange) {
			if u.client.Load() != nil {
				u.moved()
			}
			u.behave()
		},
	}
}

// Enabled, Handle, WithAttrs and WithGroup are those of a slog.Handler.
func (u *user) Enabled(context.Context, slog.Level) bool { u.behave(); return true }

func (u *user) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	u.seen(text)
	u.behave()
	return errors.New("nobody keeps this")
}

func (u *user) WithAttrs([]slog.Attr) slog.Handler { u.behave(); return u }
func (u *user) WithGroup(string) slog.Handler      { u.behave(); return u }
