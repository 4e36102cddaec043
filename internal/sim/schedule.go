package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// length is how long a world lives, before it is given time to heal.
	length = 10 * time.Minute

	firstTrouble = 8 * time.Second
	lastEpisode  = 25 * time.Second // longer than any fault
	lastTrouble  = length - lastEpisode

	// healing is after how long without a fault every call has to succeed.
	healing = 2 * time.Second
)

// A Fault is something that happens to the world, and ends. What the numbers
// mean is its kind's business.
type Fault struct {
	*kind
	At, For time.Duration
	Node    int    // which node, host or shard
	With    uint64 // anything else, such as how many bytes
}

// A kind of fault. Its begin does something to the world and returns what undoes
// it.
type kind struct {
	name        string
	weight      int           // how often it is chosen
	least, most time.Duration // how long it lasts
	after       time.Duration // how long the world needs to be whole again behind it
	mute        bool          // a node says nothing true of the cluster, or nothing
	misleads    int           // how much it takes to make the client believe a wrong map, where it takes 2
	partly      bool          // servers refuse parts of a hit, and run others
	begin       func(w *world, f Fault) (end func())
}

// inTurn makes one function of several.
func inTurn(functions []func()) func() {
	return func() {
		for _, f := range functions {
			f()
		}
	}
}

// until returns when the fault is lifted, and over when the world is whole.
func (f Fault) until() time.Duration { return f.At + f.For }
func (f Fault) over() time.Duration  { return f.until() + f.after }

func (f Fault) overlaps(from, to time.Duration) bool { return from <= f.over() && f.At <= to }

func (f Fault) String() string {
	return fmt.Sprintf("%9.3fs +%6.3fs  %-16s node %d, with %d", f.At.Seconds(), f.For.Seconds(), f.name, f.Node, f.With)
}

// A Schedule is what happens to a world, in the order in which it begins.
type Schedule struct {
	Faults []Fault

	// Busy is when callers make many calls. It stays when faults are left out.
	Busy []Span
}

// plan makes the schedule of a seed: episodes of one to three faults, with enough
// time between them to heal, and a last one that ends with the world.
func plan(r *rand.Rand, kinds []kind) Schedule {
	var s Schedule
	for at := firstTrouble; ; {
		episode, faults := Span{at - time.Second, at}, []Fault(nil)
		for range oneOf(r, 1, 1, 1, 2, 2, 3) {
			f := draw(r, kinds)
			f.At = at + time.Duration(r.Int64N(int64(2*time.Second)))
			episode.To = max(episode.To, f.over())
			faults = append(faults, f)
		}
		episode.To += healing + time.Second
		if episode.To > lastTrouble-2*healing {
			break
		}
		s.Faults, s.Busy = append(s.Faults, faults...), append(s.Busy, episode)
		at = episode.To + 10*time.Second + time.Duration(r.Int64N(int64(50*time.Second)))
	}
	last := Span{lastTrouble, length + 1}
	for range oneOf(r, 1, 1, 2, 3) { // which end when the callers do
		f := draw(r, kinds)
		f.At = length - f.For - f.after
		s.Faults = append(s.Faults, f)
	}
	s.Busy = append(s.Busy, last)
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return s
}

// draw returns a fault of a kind chosen by weight.
func draw(r *rand.Rand, kinds []kind) Fault {
	k := byWeight(r, kinds, func(k kind) int { return k.weight })
	lasts := k.least + time.Duration(r.Int64N(int64(k.most-k.least)+1))
	return Fault{kind: k, For: lasts, Node: r.IntN(1 << 16), With: r.Uint64N(1 << 32)}
}

// busy reports whether callers make many calls at the time.
func (s *Schedule) busy(at time.Duration) bool {
	return slices.ContainsFunc(s.Busy, func(b Span) bool { return b.From <= at && at < b.To })
}
