package sim

import (
	"errors"

	"github.com/mediocregopher/radix/v4"
)

// errUnwatched is what a call has that was told that a watched key has changed, and had
// watched none.
var errUnwatched = errors.New("EXEC did nothing, though nothing was watched")

// watching is the kind of calls that leave a watch behind on a connection of their own.
const watching = "watcher"

// watcher watches a key and returns the connection, which is no sign of a watch to whoever
// gets it next: the key changes, and a transaction that watches nothing runs all the
// same. Some send an EXEC before, which is an error and unwatches nothing.
func (a *attempt) watcher() { a.watch(a.own(), chance(a.r, 2)) }

func (a *attempt) watch(key string, exec bool) {
	steps := []radix.Action{radix.Cmd(nil, "WATCH", key)}
	if exec {
		steps = append(steps, radix.Cmd(nil, "EXEC"))
	}
	_ = a.w.client.Do(a.ctx, over(key, steps...))
	set := func() radix.Action { return radix.Cmd(nil, "SET", key, a.value(key)) }
	_ = a.w.client.Do(a.ctx, set())
	maybe := radix.Maybe{Rcv: radix.Tuple{new(string)}}
	a.Err = a.w.client.Do(a.ctx, over(key, radix.Cmd(nil, "MULTI"), set(), radix.Cmd(&maybe, "EXEC")))
	if maybe.Null { // a Tuple takes none, which is an error
		a.Err = errUnwatched
	}
}
