package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/slots"
)

// Overrides are what a client's settings say: which commands are slow, in upper
// case, whatever the default says.
type Overrides map[string]bool

// SlowOnly returns that the named commands are slow and no others, or an error about the name that
// is none. Without a list, the default holds.
func SlowOnly(names []string) (Overrides, error) {
	if names == nil {
		return nil, nil
	}
	o := make(Overrides)
	for _, name := range command.SlowNames() {
		o[name] = false
	}
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n|") {
			return nil, fmt.Errorf("cluster: Slow[%d] = %q: want the name of a command, such as HGETALL", i, name)
		}
		if name = strings.ToUpper(name); slices.Contains(command.SlowNames(), name) {
			delete(o, name) // MGET is slow with many keys
		} else {
			o[name] = true
		}
	}
	return o, nil
}

// apply returns the traits of the command with these settings.
func (o Overrides) apply(c command.Command) command.Traits {
	t := c.Traits()
	if len(o) == 0 {
		return t
	}
	switch slow, set := o[c.Name()]; {
	case !set:
		return t
	case slow:
		return t | command.Slow
	}
	return t &^ command.Slow
}

// noteSlowSlots notes the slots of the commands that are marked as slow. The
// other commands of these slots must travel with them, in later attempts too: an
// LRANGE between two RPUSHes on its key must see the first and not the second.
func (r *Request) noteSlowSlots() {
	for i, m := range r.marks {
		if m&markSlow != 0 {
			r.slowSlots = append(r.slowSlots, r.slots[i])
		}
	}
	slices.Sort(r.slowSlots)
	r.slowSlots = slices.Compact(r.slowSlots)
}

// travelsSlow tells whether the i-th command travels on lanes for slow commands.
func (r *Request) travelsSlow(i int) bool {
	_, slow := slices.BinarySearch(r.slowSlots, r.slots[i])
	return slow
}

// splitSlow takes the commands that travel slow out of the n groups, and makes
// groups of their own for them, behind the others. Groups that would be empty are
// left out: a batch without commands never completes. It returns how many groups
// are left of the fast ones, and how many there are in all.
func (r *Request) splitSlow(n int) (fast, all int) {
	next := int32(0)
	for _, slow := range [...]bool{false, true} {
		fast = int(next)
		r.numbers = slices.Grow(r.numbers[:0], n)[:n]
		for g := range r.numbers {
			r.numbers[g] = slots.NoGroup
		}
		for i, g := range r.groups {
			if g == slots.NoGroup || r.travelsSlow(i) != slow {
				continue
			}
			if r.numbers[g] == slots.NoGroup {
				r.numbers[g] = next
				next++
			}
			r.groups[i] = r.numbers[g]
		}
	}
	return fast, int(next)
}
