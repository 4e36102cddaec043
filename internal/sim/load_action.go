package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// perform notes what became of a call that is one radix action.
func (a *attempt) perform(action radix.Action, replies func() []string) {
	if err := a.w.client.Do(a.ctx, action); err != nil {
		a.fail(err)
		return
	}
	for i, reply := range replies() {
		a.Commands[i].settle(reply, nil)
	}
}

func number(n *int64) func() []string {
	return func() []string { return []string{strconv.FormatInt(*n, 10)} }
}

// command is one radix.Cmd or FlatCmd.
func (a *attempt) command() {
	if chance(a.r, 2) {
		key, by, total := a.counter(), a.amount(), int64(0)
		a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
		a.perform(radix.FlatCmd(&total, "INCRBY", key, by), number(&total))
		return
	}
	key, value := a.own(), ""
	a.Commands = []Command{read("GET", key)}
	maybe := radix.Maybe{Rcv: &value}
	a.perform(radix.Cmd(&maybe, "GET", key), orNull(&maybe, &value))
}

func orNull(m *radix.Maybe, value *string) func() []string {
	return func() []string {
		if m.Null {
			return []string{null}
		}
		return []string{*value}
	}
}

// radixPipeline is a radix.Pipeline of one slot.
func (a *attempt) radixPipeline() {
	key, by, total, ok := a.own(), a.amount(), int64(0), ""
	value := a.value(key)
	a.Commands = []Command{write("SET", key, value), write("INCRBY", "n"+key, strconv.FormatInt(by, 10))}
	p := radix.NewPipeline()
	p.Append(radix.Cmd(&ok, "SET", key, value))
	p.Append(radix.FlatCmd(&total, "INCRBY", "n"+key, by))
	a.perform(p, func() []string { return []string{ok, strconv.FormatInt(total, 10)} })
}

// counting is a script that counts.
var counting = radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")

// script counts by a script, which is loaded where it is not known.
func (a *attempt) script() {
	key, by, total := a.counter(), a.amount(), int64(0)
	a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
	a.perform(counting.FlatCmd(&total, []string{key}, by), number(&total))
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
		for i, reply := range []string{ok, strconv.FormatInt(total, 10), okToo} {
			a.Commands[i].settle(reply, nil)
		}
	}
}

var errWatched = errors.New("the key that was watched has changed")

// pop waits for an element of a list that push appends to.
func (a *attempt) pop() {
	key, timeout := fmt.Sprint("l:", a.r.IntN(4)), a.r.Float64()*2
	var popped []string
	maybe := radix.Maybe{Rcv: &popped}
	a.Commands = []Command{{Text: "BLPOP " + key, Name: "BLPOP", Key: key, Slot: -1}}
	a.perform(radix.FlatCmd(&maybe, "BLPOP", key, strconv.FormatFloat(max(timeout, 0.01), 'f', 2, 64)), func() []string {
		if maybe.Null || len(popped) < 2 {
			return []string{null}
		}
		return []string{popped[1]}
	})
}

// await waits for an element of a list that nobody appends to, by a command of which
// radix does not know that it blocks.
func (a *attempt) await() {
	list, timeout := "b"+a.own(), strconv.FormatFloat(0.05+a.r.Float64(), 'f', 2, 64)
	a.Commands = []Command{{Text: "BLMOVE " + list, Name: "BLMOVE", Key: list, Slot: -1}}
	var moved string
	maybe := radix.Maybe{Rcv: &moved}
	a.perform(radix.Cmd(&maybe, "BLMOVE", list, list, "LEFT", "RIGHT", timeout), orNull(&maybe, &moved))
}

// replicated waits at each primary for more replicas than there are.
func (a *attempt) replicated() {
	timeout := strconv.Itoa(50 + a.r.IntN(1000))
	a.Err = a.w.client.ForEachPrimary(a.ctx, func(ctx context.Context, node radix.Client) error {
		return node.Do(ctx, radix.WithConn("", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, "WAIT", "9", timeout))
		}))
	})
}

func (a *attempt) push() {
	a.pushTo(fmt.Sprint("l:", a.r.IntN(4)))
}

func (a *attempt) pushTo(key string) {
	n, value := int64(0), a.value(key)
	a.Commands = []Command{write("RPUSH", key, value)}
	a.perform(radix.Cmd(&n, "RPUSH", key, value), number(&n))
}

// secondary reads what some caller has set, from a replica.
func (a *attempt) secondary() {
	key := fmt.Sprintf("v:{%d.%d}", a.r.IntN(a.w.settings.Callers), a.r.IntN(6))
	a.Commands = []Command{read("GET", key)}
	var value string
	maybe := radix.Maybe{Rcv: &value}
	if err := a.w.client.DoSecondary(a.ctx, radix.Cmd(&maybe, "GET", key)); err != nil {
		a.fail(err)
		return
	}
	a.Commands[0].settle(orNull(&maybe, &value)()[0], nil)
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

// raw is the kind of calls that read into what takes any reply for a value, also an
// error, over connections of others or their own.
const raw = "raw"

func (a *attempt) raw() {
	key := a.own()
	a.Commands = []Command{read("GET", key)}
	var said resp3.RawMessage
	get := radix.Cmd(&said, "GET", key)
	action := radix.Action(get)
	if chance(a.r, 2) {
		action = radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, get) })
	}
	a.perform(action, func() []string { return []string{valueOf(string(said))} })
	if refused := (resp3.SimpleError{S: strings.TrimPrefix(a.Commands[0].Reply, "-")}); isTooMuch(refused) || ofNoServer(refused) {
		a.fail(refused)
	}
}

// valueOf returns what an encoded reply to GET says; an error as it is.
func valueOf(encoded string) string {
	switch {
	case strings.HasPrefix(encoded, "_"), strings.HasPrefix(encoded, "$-1"):
		return null
	case strings.HasPrefix(encoded, "$"):
		_, value, _ := strings.Cut(encoded, "\r\n")
		return strings.TrimSuffix(value, "\r\n")
	}
	return encoded
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
	var said string
	a.perform(radix.Cmd(&said, "ECHO", text), func() []string { return []string{said} })
}
