package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// A mood is how the functions behave that a user gives the client.
type mood int32

const (
	well      mood = iota
	slow           // they take their time
	panicking      // now and then they panic
	reentrant      // they call the client
	wild           // any of these
)

const (
	// slowness is how long a slow function takes.
	slowness = 2 * time.Millisecond

	// reentry is how long a function waits for the client that has called it.
	reentry = 20 * time.Millisecond
)

// A callback is one of the functions. Each has a row of random numbers for itself.
type callback uint64

const (
	theStrategy callback = iota
	theCredentials
	theAddrMap
	theTrace
	theLogger
	callbacks
)

// sleeper reports whether the function may take as long as a call of the client
// does: strategies and traces must not block.
func (c callback) sleeper() bool { return c != theStrategy && c != theTrace }

// A user is the functions that the client calls. All of them are safe for
// concurrent use.
type user struct {
	seed   uint64
	mood   atomic.Int32
	calls  [callbacks]atomic.Uint64
	client atomic.Pointer[cluster.Client]
	inside atomic.Int32      // functions that call the client
	seen   func(text string) // is given what is logged
	stuck  func() bool       // whether the log returns no more
	over   <-chan struct{}   // until when
	moved  func()            // is called when the map of the slots has changed
	nat    bool              // the client needs other addresses than those that servers name

	password func() string // the one that is right now
}

// behave does what the mood wants in some of the function's calls, which the seed
// chooses.
func (u *user) behave(c callback) {
	m := mood(u.mood.Load())
	if m == well {
		return
	}
	r := mix(u.seed ^ mix(uint64(c)<<48|u.calls[c].Add(1)))
	if m == wild {
		m = slow + mood(r>>32%3)
	}
	switch {
	case m == slow && r%4 == 0:
		time.Sleep(slowness)
	case m == panicking && r%8 == 0:
		panic("a user's function panics")
	case m == reentrant && r%8 == 0:
		u.reenter(c)
	}
}

// reenter calls the client that is calling the function, which may not have been
// made yet.
func (u *user) reenter(c callback) {
	client := u.client.Load()
	if client == nil {
		return
	}
	_ = client.Stats()
	if u.inside.Add(1) > 1 { // that call may have called this function
		u.inside.Add(-1)
		return
	}
	call := func() {
		defer u.inside.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), reentry)
		defer cancel()
		_ = client.Do(ctx, radix.Cmd(nil, "GET", "of-a-callback"))
	}
	if c.sleeper() {
		call()
		return
	}
	go call()
}

func (u *user) strategy(s lanes.Strategy) lanes.Strategy {
	return func(set *lanes.Set, key int64) int {
		u.behave(theStrategy)
		return s(set, key)
	}
}

func (u *user) credentials(context.Context) (username, password string, err error) {
	u.behave(theCredentials)
	return "", u.password(), nil
}

func (u *user) addrMap(addr string) string {
	u.behave(theAddrMap)
	if u.nat {
		return translated(addr)
	}
	return addr
}

// trace returns functions that behave as the user does.
func (u *user) trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest: func(ctx context.Context, _ redislanes.RequestStart) context.Context {
			u.behave(theTrace)
			return ctx
		},
		EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { u.behave(theTrace) },
		BeginGroup: func(ctx context.Context, _ redislanes.GroupStart) context.Context {
			u.behave(theTrace)
			return ctx
		},
		EndGroup:   func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { u.behave(theTrace) },
		PoolOpened: func(*redislanes.PoolInfo) { u.behave(theTrace) },
		PoolClosed: func(*redislanes.PoolInfo) { u.behave(theTrace) },
		Waited:     func(redislanes.WaitInfo) { u.behave(theTrace) },
		Dialed:     func(redislanes.DialInfo) { u.behave(theTrace) },
		ConnClosed: func(redislanes.CloseInfo) { u.behave(theTrace) },
		TopologyChanged: func(redislanes.TopologyChange) {
			if u.client.Load() != nil {
				u.moved()
			}
			u.behave(theTrace)
		},
	}
}

// Enabled, Handle, WithAttrs and WithGroup are those of a slog.Handler.
func (u *user) Enabled(context.Context, slog.Level) bool { u.behave(theLogger); return true }

func (u *user) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	u.seen(text)
	if u.stuck() {
		<-u.over
		return nil
	}
	u.behave(theLogger)
	return errors.New("nobody keeps this")
}

func (u *user) WithAttrs([]slog.Attr) slog.Handler { u.behave(theLogger); return u }
func (u *user) WithGroup(string) slog.Handler      { u.behave(theLogger); return u }
