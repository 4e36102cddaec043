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
)

// moreActions take the place of some calls, so that the others stay what they were.
var moreActions []action

func init() {
	moreActions = []action{
		{"module", 1, (*attempt).module},
		{raw, 1, (*attempt).rawReads},
	}
}

// more returns what takes the place of a caller's call, which mostly is the call itself.
func (w *world) more(caller, k int, instead *action) *action {
	r := source(w.seed, ofMore, uint64(caller)<<32|uint64(k))
	if !chance(r, 12) {
		return instead
	}
	return &moreActions[r.IntN(len(moreActions))]
}

// module counts by a command of a module, of which only servers know where its key is.
func (a *attempt) module() {
	name := fmt.Sprintf("MODULE%d.INCRBY", a.r.IntN(model.Modules))
	key, by, total := a.counter(), a.amount(), int64(0)
	a.Commands = []Command{write(name, key, strconv.FormatInt(by, 10))}
	a.perform(radix.FlatCmd(&total, name, by, key), number(&total))
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
	if refused := (resp3.SimpleError{S: strings.TrimPrefix(string(said), "-")}); err == nil && isTooMuch(refused) {
		err = refused
	}
	c.settle(valueOf(string(said)), err)
	return c, err
}
