package sim

import (
	"errors"

	"github.com/mediocregopher/radix/v4"
)

var errOpen = errors.New("the transaction was never executed")

// unclean is the kind of a call that leaves something behind on its connection.
const unclean = "unclean"

// unclean leaves something behind on a dedicated connection, which the
// next user must not find.
func (a *attempt) unclean() {
	key := a.own()
	value := a.value(key)
	a.Misuse, a.Err = true, errOpen
	a.Commands = []Command{write("SET", key, value)}
	a.Commands[0].Outcome, a.Commands[0].Err = NotSent, errOpen
	set := radix.Cmd(nil, "SET", key, value)
	leaves := [][]radix.Action{
		{radix.Cmd(nil, "MULTI"), set},
		{radix.Cmd(nil, "WATCH", key), radix.Cmd(nil, "MULTI"), set},
		{radix.Cmd(nil, "MULTI"), set, radix.Cmd(nil, "UNWATCH")},
		{radix.Cmd(nil, "WATCH", key), radix.Cmd(nil, "MULTI"), set, radix.Cmd(nil, "DISCARD"), radix.Cmd(nil, "WATCH", key)},
		{radix.Cmd(nil, "CLIENT", "NO-EVICT", "ON")},
		{radix.Cmd(nil, "QUIT")},
	}
	_ = a.w.client.Do(a.ctx, over(key, oneOf(a.r, leaves...)...)) // up to an error: outside of a MULTI the SET would be executed
}

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
