package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// perform makes a call of one radix action. The receivers hold the replies to its commands.
func (a *attempt) perform(action radix.Action, receivers ...any) {
	a.received(a.w.client.Do(a.ctx, action), receivers...)
}

// received notes what became of a call.
func (a *attempt) received(err error, receivers ...any) {
	if err != nil {
		a.fail(err)
		return
	}
	for i, r := range receivers {
		a.Commands[i].settle(said(r), nil)
	}
}

// said is what a receiver holds, as text.
func said(receiver any) string {
	switch r := receiver.(type) {
	case *int64:
		return strconv.FormatInt(*r, 10)
	case *[]string: // of BLPOP: the list, and what was in it
		return strings.Join((*r)[min(1, len(*r)):], "")
	case *radix.Maybe:
		if r.Null {
			return null
		}
		return said(r.Rcv)
	}
	return *receiver.(*string)
}

// command is one radix.Cmd or FlatCmd.
func (a *attempt) command() {
	if chance(a.r, 2) {
		key, by, total := a.counter(), a.amount(), int64(0)
		a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
		a.perform(radix.FlatCmd(&total, "INCRBY", key, by), &total)
		return
	}
	key, value := a.own(), ""
	a.Commands = []Command{read("GET", key)}
	maybe := radix.Maybe{Rcv: &value}
	a.perform(radix.Cmd(&maybe, "GET", key), &maybe)
}

// radixPipeline is a radix.Pipeline of one slot.
func (a *attempt) radixPipeline() {
	key, by, total, ok := a.own(), a.amount(), int64(0), ""
	value := a.value(key)
	a.Commands = []Command{write("SET", key, value), write("INCRBY", "n"+key, strconv.FormatInt(by, 10))}
	p := radix.NewPipeline()
	p.Append(radix.Cmd(&ok, "SET", key, value))
	p.Append(radix.FlatCmd(&total, "INCRBY", "n"+key, by))
	a.perform(p, &ok, &total)
}

// counting is a script that counts.
var counting = radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")

// script counts by a script, which is loaded where it is not known.
func (a *attempt) script() {
	key, by, total := a.counter(), a.amount(), int64(0)
	a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
	a.perform(counting.FlatCmd(&total, []string{key}, by), &total)
}

// pop waits for an element of a list that push appends to.
func (a *attempt) pop() {
	key, timeout := fmt.Sprint("l:", a.r.IntN(4)), a.r.Float64()*2
	var popped []string
	maybe := radix.Maybe{Rcv: &popped}
	a.Commands = []Command{{Text: "BLPOP " + key, Name: "BLPOP", Key: key, Slot: -1}}
	a.perform(radix.FlatCmd(&maybe, "BLPOP", key, strconv.FormatFloat(max(timeout, 0.01), 'f', 2, 64)), &maybe)
}

// push appends to one of the lists.
func (a *attempt) push() {
	key := fmt.Sprint("l:", a.r.IntN(4))
	n, value := int64(0), a.value(key)
	a.Commands = []Command{write("RPUSH", key, value)}
	a.perform(radix.Cmd(&n, "RPUSH", key, value), &n)
}

// transaction sets and counts in a MULTI, on a connection of its own.
func (a *attempt) transaction() {
	key, by := a.own(), a.amount()
	n, first, second := "n"+key, a.value(key), a.value(key)
	a.Commands = []Command{
		write("SET", key, first), write("INCRBY", n, strconv.FormatInt(by, 10)), write("SET", key, second),
	}
	var ok, okToo string
	var total int64
	sent := false // EXEC
	err := a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		sent = false
		for _, step := range []radix.Action{
			radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "SET", key, first), radix.FlatCmd(nil, "INCRBY", n, by), radix.Cmd(nil, "SET", key, second),
		} {
			if err := conn.Do(ctx, step); err != nil {
				return err
			}
		}
		sent = true
		return conn.Do(ctx, radix.Cmd(&radix.Tuple{&ok, &total, &okToo}, "EXEC"))
	}))
	if err == nil {
		a.received(nil, &ok, &total, &okToo)
		return
	}
	a.fail(err)
	undecodable := errors.Is(err, redislanes.ErrDecode) // a command in it failed
	for i := range a.Commands {
		if sent && undecodable {
			a.Commands[i].Outcome = Unknown
		}
		if !sent && a.Commands[i].Outcome != Contrary {
			a.Commands[i].Outcome = NotSent
		}
	}
}

// replicas reads what callers have set, from replicas of several nodes.
func (a *attempt) replicas() {
	p := pipeline.Config{Replicas: true}.New(a.w.client)
	var replies []pipeline.Reply
	for range 1 + a.r.IntN(4) {
		key := fmt.Sprintf("v:{%d.%d}", a.r.IntN(a.w.settings.Callers), a.r.IntN(6))
		a.Commands = append(a.Commands, read("GET", key))
		replies = append(replies, p.Cmd("GET", key))
	}
	a.do(p, replies)
}

// echo is a command without a key.
func (a *attempt) echo() {
	text := fmt.Sprintf("%s%x", canary, a.r.Uint64())
	a.Commands = []Command{{Text: "ECHO " + text, Name: "ECHO", Slot: -1}}
	if chance(a.r, 2) {
		p := pipeline.New(a.w.client)
		a.do(p, []pipeline.Reply{p.Cmd("ECHO", text)})
		return
	}
	var reply string
	a.perform(radix.Cmd(&reply, "ECHO", text), &reply)
}
