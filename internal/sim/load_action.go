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

// over returns an action that makes one call after the other on a connection of its own, until
// one fails.
func over(key string, actions ...radix.Action) radix.Action {
	return radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		for _, a := range actions {
			if err := conn.Do(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
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

// transaction sets and counts in a MULTI, on a connection of its own.
func (a *attempt) transaction() {
	key, by, watch := a.own(), a.amount(), chance(a.r, 3)
	n, first, second := "n"+key, a.value(key), a.value(key)
	a.Commands = []Command{
		write("SET", key, first), write("INCRBY", n, strconv.FormatInt(by, 10)), write("SET", key, second),
	}
	var ok, okToo string
	var total int64
	maybe := radix.Maybe{Rcv: radix.Tuple{&ok, &total, &okToo}}
	sent := false // EXEC
	err := a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		sent, maybe.Null = false, false
		var steps []radix.Action
		if watch {
			steps = append(steps, radix.Cmd(nil, "WATCH", key))
		}
		steps = append(steps, radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "SET", key, first),
			radix.FlatCmd(nil, "INCRBY", n, by), radix.Cmd(nil, "SET", key, second))
		for _, s := range steps {
			if err := conn.Do(ctx, s); err != nil {
				return err
			}
		}
		sent = true
		return conn.Do(ctx, radix.Cmd(&maybe, "EXEC"))
	}))
	switch {
	case maybe.Null: // a Tuple takes none, which is an error
		if a.Err = errWatched; !watch {
			a.Err = errUnwatched
		}
		for i := range a.Commands {
			a.Commands[i].Outcome, a.Commands[i].Err = Failed, a.Err
		}
	case err != nil:
		a.fail(err)
		undecodable := errors.As(err, new(*redislanes.DecodeError)) // a command in it failed
		for i := range a.Commands {
			if sent && undecodable {
				a.Commands[i].Outcome = Unknown
			}
			if !sent && a.Commands[i].Outcome != Contrary {
				a.Commands[i].Outcome = NotSent
			}
		}
	default:
		a.received(nil, &ok, &total, &okToo)
	}
}

var errWatched = errors.New("the key that was watched has changed")

// pop waits for an element of a list that push appends to.
func (a *attempt) pop() {
	key, timeout := fmt.Sprint("l:", a.r.IntN(4)), a.r.Float64()*2
	var popped []string
	maybe := radix.Maybe{Rcv: &popped}
	a.Commands = []Command{{Text: "BLPOP " + key, Name: "BLPOP", Key: key, Slot: -1}}
	a.perform(radix.FlatCmd(&maybe, "BLPOP", key, strconv.FormatFloat(max(timeout, 0.01), 'f', 2, 64)), &maybe)
}

// await waits for an element of a list that nobody appends to, by a command of which
// radix does not know that it blocks.
func (a *attempt) await() {
	list, timeout := "b"+a.own(), strconv.FormatFloat(0.05+a.r.Float64(), 'f', 2, 64)
	a.Commands = []Command{{Text: "BLMOVE " + list, Name: "BLMOVE", Key: list, Slot: -1}}
	var moved string
	maybe := radix.Maybe{Rcv: &moved}
	a.perform(radix.Cmd(&maybe, "BLMOVE", list, list, "LEFT", "RIGHT", timeout), &maybe)
}

func (a *attempt) push() {
	a.pushTo(fmt.Sprint("l:", a.r.IntN(4)))
}

func (a *attempt) pushTo(key string) {
	n, value := int64(0), a.value(key)
	a.Commands = []Command{write("RPUSH", key, value)}
	a.perform(radix.Cmd(&n, "RPUSH", key, value), &n)
}

// secondary reads what some caller has set, from a replica.
func (a *attempt) secondary() {
	key := fmt.Sprintf("v:{%d.%d}", a.r.IntN(a.w.settings.Callers), a.r.IntN(6))
	a.Commands = []Command{read("GET", key)}
	var value string
	maybe := radix.Maybe{Rcv: &value}
	a.received(a.w.client.DoSecondary(a.ctx, radix.Cmd(&maybe, "GET", key)), &maybe)
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
