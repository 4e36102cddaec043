package sim

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pipeline"
)

const module = "module"

// moreActions take the place of some calls, so that the others stay what they were.
var moreActions []action

func init() {
	moreActions = []action{
		{module, 1, (*attempt).module},
		{raw, 1, (*attempt).rawReads},
		{"replicas", 2, (*attempt).patientReads},
	}
}

// more returns what takes the place of a caller's call, which mostly is the call itself.
func (w *world) more(caller, k int, instead *action) *action {
	r := source(w.seed, ofMore, uint64(caller)<<32|uint64(k))
	if !chance(r, 9) {
		return instead
	}
	more := pick(r, moreActions)
	if w.settings.Terms.Blind && more.name == module { // nobody is asked where its key is
		return instead
	}
	return more
}

// module counts by a command of a module, of which only servers know where its key is.
func (a *attempt) module() {
	name := fmt.Sprintf("MODULE%d.INCRBY", a.r.IntN(model.Modules))
	key, by, total := a.counter(), a.amount(), int64(0)
	a.Commands = []Command{write(name, key, strconv.FormatInt(by, 10))}
	if chance(a.r, 2) {
		a.perform(radix.FlatCmd(&total, name, by, key), number(&total))
		return
	}
	p := a.newPipeline()
	a.do(p, []pipeline.Reply{p.Cmd(name, strconv.FormatInt(by, 10), key)})
}

// patientReads reads from replicas of most nodes, mostly with time to turn to primaries.
func (a *attempt) patientReads() {
	d := oneOf[time.Duration](a.r, 200, 300, 500, 2000) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	a.ctx, a.Limit, a.Deadline = ctx, a.Began+d, true
	p := pipeline.Config{Replicas: true}.New(a.w.client)
	var replies []pipeline.Reply
	for range 6 {
		key := fmt.Sprintf("v:{%d.%d}", a.r.IntN(a.w.settings.Callers), a.r.IntN(6))
		a.Commands = append(a.Commands, read("GET", key))
		replies = append(replies, p.Cmd("GET", key))
	}
	a.do(p, replies)
}

// rawReads reads keys one after the other into what takes any reply for a value.
func (a *attempt) rawReads() {
	n := 3
	if a.w.settings.Latency <= time.Millisecond {
		n = 8
	}
	for range n {
		key := fmt.Sprintf("v:{%d.%d}", a.r.IntN(a.w.settings.Callers), a.r.IntN(6))
		c, err := a.rawRead(key, chance(a.r, 2))
		a.Commands, a.Err = append(a.Commands, c), cmp.Or(a.Err, err)
	}
}

func (a *attempt) rawRead(key string, alone bool) (Command, error) {
	c := read("GET", key)
	var said resp3.RawMessage
	get := radix.Cmd(&said, "GET", key)
	action := radix.Action(get)
	if alone {
		action = radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, get) })
	}
	err := a.w.client.Do(a.ctx, action)
	if refused := (resp3.SimpleError{S: strings.TrimPrefix(string(said), "-")}); err == nil && (isTooMuch(refused) || ofNoServer(refused)) {
		err = refused
	}
	c.settle(valueOf(string(said)), err)
	return c, err
}
