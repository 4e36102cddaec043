package sim

import (
	"context"
	"errors"

	"github.com/mediocregopher/radix/v4"
)

// errUnwatched is what a call has that was told that a watched key has changed, and had
// watched none.
var errUnwatched = errors.New("EXEC did nothing, though nothing was watched")

// watching is the kind of calls that leave a watch behind on a connection of their own.
const watching = "watcher"

// watcher watches a key and returns the connection, which is no sign of a watch to whoever
// is lent it next: the key changes, and a transaction that watches nothing runs all the
// same. Some send an EXEC before, which is an error and unwatches nothing.
func (a *attempt) watcher() { a.watch(a.own(), chance(a.r, 2)) }

func (a *attempt) watch(key string, exec bool) {
	_ = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		err := conn.Do(ctx, radix.Cmd(nil, "WATCH", key))
		if err == nil && exec {
			err = conn.Do(ctx, radix.Cmd(nil, "EXEC"))
		}
		return err
	}))
	_ = a.w.client.Do(a.ctx, radix.Cmd(nil, "SET", key, a.value(key)))
	var ok string
	maybe := radix.Maybe{Rcv: radix.Tuple{&ok}}
	err := a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		for _, step := range []radix.Action{radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "SET", key, a.value(key))} {
			if err := conn.Do(ctx, step); err != nil {
				return err
			}
		}
		return conn.Do(ctx, radix.Cmd(&maybe, "EXEC"))
	}))
	if a.Err = err; maybe.Null { // a Tuple takes none, which is an error
		a.Err = errUnwatched
	}
}
