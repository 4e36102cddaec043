package sim

import (
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

// blockingPipeline counts, and waits for an element that nobody appends: if the
// slot is being moved, the first may run and the second be sent elsewhere.
func (a *attempt) blockingPipeline() {
	key, by, total := a.own(), a.amount(), int64(0)
	list := "b" + key
	a.Commands = []Command{
		write("INCRBY", "n"+key, strconv.FormatInt(by, 10)), {Text: "BLMOVE " + list, Name: "BLMOVE", Key: list, Slot: -1},
	}
	p := radix.NewPipeline()
	p.Append(radix.FlatCmd(&total, "INCRBY", "n"+key, by))
	p.Append(radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.01")) // radix knows that BLPOP blocks
	a.perform(p, func() []string { return []string{strconv.FormatInt(total, 10), null} })
}
