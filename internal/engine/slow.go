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

// SlowAndFast returns what the two lists of names say, or an error that names the one that
// is none.
func SlowAndFast(slow, fast []string) (Overrides, error) {
	o := make(Overrides, len(fast)+len(slow))
	for _, list := range [...]struct {
		field string
		names []string
		slow  bool
	}{{"Fast", fast, false}, {"Slow", slow, true}} { // Slow is the last word
		for i, name := range list.names {
			if name == "" || strings.ContainsAny(name, " \t\r\n|") {
				return nil, fmt.Errorf("cluster: %s[%d] = %q: want the name of a command, such as HGETALL", list.field, i, name)
			}
			o[strings.ToUpper(name)] = list.slow
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
