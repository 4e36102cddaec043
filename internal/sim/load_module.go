package sim

import (
	"fmt"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pipeline"
)

// module counts by a command of a module, of which only servers know where its key is.
func (a *attempt) module() {
	if a.w.settings.Terms.Blind { // nobody is asked where its key is
		a.command()
		return
	}
	name := fmt.Sprintf("MODULE%d.INCRBY", a.r.IntN(model.Modules))
	key, by, total := a.counter(), a.amount(), int64(0)
	a.Commands = []Command{write(name, key, strconv.FormatInt(by, 10))}
	if chance(a.r, 2) {
		a.perform(radix.FlatCmd(&total, name, by, key), &total)
		return
	}
	p := a.newPipeline()
	a.do(p, []pipeline.Reply{p.Cmd(name, strconv.FormatInt(by, 10), key)})
}
