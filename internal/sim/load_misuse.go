package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// misuse makes one of the mistakes that callers make. Each has to have an error
// and to disturb nobody.
func (a *attempt) misuse() {
	a.Misuse = true
	mistakes := []func(a *attempt) error{
		crossSlot, transactionInPipeline, noNumber, wrongReceiver, wrongReceiverAlone, subscribing, silencing, lateUse,
		opening, pipelined("CLIENT", "REPLY", "SKIP"), pipelined("MONITOR"), pipelined("BLPOP", "l:0", "1"), madeUp,
	}
	a.Err = mistakes[a.r.IntN(len(mistakes))](a)
	for i := range a.Commands {
		a.Commands[i].settle("", a.Err)
	}
}

// mistaken notes a command that must not be executed.
func (a *attempt) mistaken() (key, value string) {
	key = a.own()
	value = a.value(key)
	a.Commands = append(a.Commands, write("SET", key, value))
	return key, value
}

func crossSlot(a *attempt) error {
	if s := &a.w.settings; s.NoCluster || s.Config.Standalone { // where all slots are one server's it is none
		return noNumber(a)
	}
	return pipelined("MGET", "a", "b")(a)
}

func transactionInPipeline(a *attempt) error {
	key, value := a.mistaken()
	p := pipeline.New(a.w.client)
	p.Cmd("MULTI")
	p.Cmd("SET", key, value)
	p.Cmd("EXEC")
	return p.Do(a.ctx)
}

func noNumber(a *attempt) error { return a.w.client.Do(a.ctx, radix.Cmd(nil, "INCRBY", "p:0", "x")) }

// wrongReceiver reads a value that is no number into one.
func wrongReceiver(a *attempt) error {
	return a.w.client.Do(a.ctx, a.undecodable("w"+a.own()))
}

// wrongReceiverAlone does so over a dedicated connection.
func wrongReceiverAlone(a *attempt) error {
	key := "w" + a.own()
	return a.w.client.Do(a.ctx, over(key, a.undecodable(key)))
}

// undecodable returns a pipeline with a reply that does not fit its receiver.
func (a *attempt) undecodable(key string) radix.Action {
	n := 0
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "SET", key, a.value(key)))
	p.Append(radix.Cmd(&n, "GETSET", key, a.value(key)))
	return p
}

// refusedPipeline has a command that the server refuses, for an argument that no error may
// show.
func (a *attempt) refusedPipeline() {
	a.Misuse = true
	key := "w" + a.own()
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "SET", key, a.value(key)))
	p.Append(radix.Cmd(nil, "INCRBY", key, a.value(key)))
	a.Err = a.w.client.Do(a.ctx, oneOf[radix.Action](a.r, p, over(key, p)))
}

func subscribing(a *attempt) error { return a.somewhere(radix.Cmd(nil, "SUBSCRIBE", "news")) }

func silencing(a *attempt) error { return a.somewhere(radix.Cmd(nil, "CLIENT", "REPLY", "OFF")) }

func opening(a *attempt) error { return a.somewhere(radix.Cmd(nil, "MULTI")) }

// somewhere performs the action at any node, or at all primaries.
func (a *attempt) somewhere(action radix.Action) error {
	if chance(a.r, 2) {
		return a.w.client.Do(a.ctx, action)
	}
	return a.w.client.ForEachPrimary(a.ctx, func(ctx context.Context, node radix.Client) error { return node.Do(ctx, action) })
}

// lateUse keeps a dedicated connection and uses it when it may be somebody
// else's.
func lateUse(a *attempt) error {
	key, value := a.mistaken()
	var kept radix.Conn
	err := a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		kept = conn
		return conn.Do(ctx, radix.Cmd(nil, "ECHO", "x"))
	}))
	if kept == nil {
		return err
	}
	return kept.Do(a.ctx, radix.Cmd(nil, "SET", key, value))
}

// nowhere is an address that only a script names.
const nowhere = "10.255.0.1:6379"

// madeUp runs a script that makes up a redirect, for a slot that is not its key's. It is an
// error like any other: nobody goes there.
func madeUp(a *attempt) error {
	key := a.own()
	text := fmt.Sprintf("%s %d %s", oneOf(a.r, "MOVED", "ASK"), (cluster.Slot(key)+1)%cluster.SlotCount, nowhere)
	p := pipeline.New(a.w.client)
	p.Cmd("EVAL", "return {err=ARGV[1]}", "1", key, text)
	err := p.Do(a.ctx)
	var said resp3.SimpleError
	if err != nil && !errors.As(err, &said) && strings.Contains(err.Error(), nowhere) {
		return nil
	}
	return err
}
