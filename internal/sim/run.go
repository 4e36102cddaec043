package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A Failure is the world of a seed, and what a judge found in it.
type Failure struct {
	Seed     uint64
	Settings Settings
	Faults   []Fault
	Judge    string
	Sentence string
	History  *History
}

// Trace makes worlds print the errors and the log of their clients.
var Trace bool

// Run makes the world of a seed. Its Judge is "" if nothing is wrong with it.
func Run(t *testing.T, seed uint64) *Failure { return run(t, seed, scheduleOf(seed)) }

// scheduleOf returns the schedule of a seed.
func scheduleOf(seed uint64) Schedule {
	return plan(source(seed, ofSchedule, 0), slices.Concat(networkKinds(), clusterKinds(), replyKinds()))
}

func run(t *testing.T, seed uint64, schedule Schedule) (failure *Failure) {
	settings := choose(seed)
	failure = &Failure{Seed: seed, Settings: settings, Faults: schedule.Faults}
	defer func() {
		if p := recover(); p != nil { // by synctest, if goroutines are left
			failure.Judge, failure.Sentence = "left", fmt.Sprint(p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		failure.History = live(seed, settings, schedule)
	})
	failure.Judge, failure.Sentence = judged(failure.History)
	return failure
}

// With reports whether the same judge finds something in the seed's world with these faults only. A seed does not always
// fail, so each set of faults has two tries.
func (f *Failure) With(t *testing.T, faults []Fault) bool {
	s := scheduleOf(f.Seed)
	s.Faults = faults
	for range 2 {
		if run(t, f.Seed, s).Judge == f.Judge {
			return true
		}
	}
	return false
}

func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s\n%+v\n", f.Seed, f.Judge, f.Sentence, f.Settings)
	for _, fault := range f.Faults {
		fmt.Fprintln(&b, "  ", fault)
	}
	return b.String()
}

// Around tells of the calls that the sentence names, and of what the servers executed of them.
func (f *Failure) Around() string {
	if f.History == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range f.History.Calls {
		if !strings.Contains(f.Sentence, fmt.Sprintf("call %d ", c.ID)) {
			continue
		}
		fmt.Fprintf(&b, "call %d (%s): %v to %v, limit %v: %v\n", c.ID, c.Kind, c.Began, c.Ended, c.Limit, c.Err)
		for i := range c.Commands[:min(len(c.Commands), 20)] {
			fmt.Fprintf(&b, "  %s, replied %q: %v%s\n", c.of(i), short(c.Commands[i].Reply), c.Commands[i].Err,
				f.History.told(f.History.executions[c.Commands[i].Text]))
		}
	}
	return b.String()
}
