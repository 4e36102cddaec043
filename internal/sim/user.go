package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// A mood is how the functions behave that a user gives the client.
type mood int32

const (
	well      mood = iota
	slow           // they take their time
	panicking      // now and then they panic
	reentrant      // they ask the client
)

// slowness is how long a slow function takes.
const slowness = 2 * time.Millisecond

// A user is the functions that the client calls. All of them are safe for
// concurrent use.
type user struct {
	mood   atomic.Int32
	calls  atomic.Uint64
	client atomic.Pointer[cluster.Client]
	seen   func(text string) // is given what is logged

	password func() string // the one that is right now
}

// behave does what the mood wants.
func (u *user) behave() {
	n := u.calls.Add(1)
	switch mood(u.mood.Load()) {
	case slow:
		if n%4 == 0 {
			time.Sleep(slowness)
		}
	case panicking:
		if n%8 == 0 {
			panic("a user's function panics")
		}
	case reentrant:
		if c := u.client.Load(); c != nil {
			_ = c.Stats()
		}
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

// Pool, Request, Waited and Left are those of an observer.
func (u *user) Pool(cluster.PoolInfo) cluster.PoolObserver { u.behave(); return u }
func (u *user) Request(cluster.RequestInfo)                { u.behave() }
func (u *user) Waited(time.Duration)                       { u.behave() }
func (u *user) Left()                                      { u.behave() }

// Enabled, Handle, WithAttrs and WithGroup are those of a slog.Handler.
func (u *user) Enabled(context.Context, slog.Level) bool { return true }

func (u *user) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	u.seen(text)
	u.behave()
	return errors.New("nobody keeps this")
}

func (u *user) WithAttrs([]slog.Attr) slog.Handler { return u }
func (u *user) WithGroup(string) slog.Handler      { return u }
