package sim

import (
	"errors"

	"github.com/mediocregopher/radix/v4"
)

var errOpen = errors.New("the transaction was never executed")

// unclean is the kind of a call that leaves something behind on its connection.
const unclean = "unclean"

// unclean leaves something behind on a connection that it was lent, which the
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
