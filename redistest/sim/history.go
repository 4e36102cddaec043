package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// History returns an error if check reports that no order of the calls at a key explains their replies. It names the
// first call that has ended with such a reply. check is given the calls of one key in the order in which they began, and
// must not call methods of Calls. Keys with [Cluster.LostWrites] are left out.
func (c *Calls) History(check func(history []*Call) bool) error {
	return c.judge(func(key string, calls []*Call) (*Call, string) {
		if c.c.LostWrites(key) || check(history(calls, math.MaxInt64)) {
			return nil, ""
		}
		ends := slices.SortedStableFunc(slices.Values(calls), func(a, b *Call) int { return cmp.Compare(a.last, b.last) })
		wrong := ends[sort.Search(len(ends)-1, func(i int) bool { return !check(history(calls, ends[i].last)) })]
		return wrong, fmt.Sprintf("no order of the calls explains the reply %v to %v", wrong.reply, wrong.command)
	})
}

// Operation returns the call of a history as a porcupine.Operation has it, in the order of its fields. Calls of one client
// do not overlap. The numbers call and end order the begins and ends of all calls, also those of one moment. A call that
// did not end with ok has the output nil and the end [math.MaxInt64]: it may have run or not.
func (c *Call) Operation() (client int, input []any, call int64, output []any, end int64) {
	return c.client, c.command, c.first, c.reply, c.last
}

// history returns the calls as they were known at an event. They are in the order in which they began.
func history(calls []*Call, at int64) (known []*Call) {
	var ends []int64 // of the last call of each client
	for _, call := range calls {
		one := *call
		if one.first > at {
			break
		}
		if one.last > at {
			one.last, one.reply = math.MaxInt64, nil
		}
		one.client = slices.IndexFunc(ends, func(end int64) bool { return end < one.first })
		if one.client < 0 {
			one.client, ends = len(ends), append(ends, 0)
		}
		ends[one.client] = one.last
		known = append(known, &one)
	}
	return known
}
