package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A Failure is what a judge found in the world of a seed.
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

// Run makes the world of a seed. It returns what is wrong with it, nil if nothing is, and
// its history.
func Run(t *testing.T, seed uint64) (*Failure, *History) {
	f := run(t, seed, scheduleOf(seed))
	if f.Judge == "" {
		return nil, f.History
	}
	return f, f.History
}

// scheduleOf returns the schedule of a seed.
func scheduleOf(seed uint64) Schedule {
	return plan(source(seed, ofSchedule, 0), allKinds())
}

func run(t *testing.T, seed uint64, schedule Schedule) (failure *Failure) {
	settings := choose(seed)
	settings.Trace = Trace
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

func (f *Failure) fails(t *testing.T, faults []Fault) bool {
	s := scheduleOf(f.Seed)
	s.Faults = faults
	return run(t, f.Seed, s).Judge == f.Judge
}

// Shrunk returns the faults that are enough for the same judge. A seed does not
// always fail, so each set of faults has two tries.
func (f *Failure) Shrunk(t *testing.T) []Fault {
	return shrink(f.Faults, func(rest []Fault) bool {
		for range 2 {
			if f.fails(t, rest) {
				return true
			}
		}
		return false
	})
}

func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s\n%s\n", f.Seed, f.Judge, f.Sentence, f.Settings.describe())
	for _, fault := range f.Faults {
		fmt.Fprintln(&b, "  ", fault)
	}
	return b.String()
}

// Around tells of the calls and executions that have to do with the sentence, by
// the numbers of calls and the keys in it.
func (f *Failure) Around() string {
	if f.History == nil {
		return ""
	}
	var b strings.Builder
	var last *Call
	for _, c := range f.History.Calls {
		if strings.Contains(f.Sentence, fmt.Sprintf("call %d ", c.ID)) {
			f.tell(&b, c)
			last = c
		}
	}
	if last != nil {
		f.neighbours(&b, last)
	}
	if key, _, ok := strings.Cut(f.Sentence, ": "); ok {
		f.onKey(&b, key)
	}
	return b.String()
}

// tell tells of a call and of what the servers executed of it.
func (f *Failure) tell(b *strings.Builder, call *Call) {
	fmt.Fprintf(b, "call %d (%s): %v to %v, limit %v: %v\n", call.ID, call.Kind, call.Began, call.Ended, call.Limit, call.Err)
	for i := range call.Commands {
		if i == 20 {
			break
		}
		fmt.Fprintf(b, "  %s, replied %q: %v%s\n", call.of(i), short(call.Commands[i].Reply), call.Commands[i].Err,
			f.History.told(f.History.executions(call.Commands[i].Text)))
	}
}

// onKey tells what was executed on the key, if there is such a key.
func (f *Failure) onKey(b *strings.Builder, key string) {
	for i := range f.History.Log {
		if e := &f.History.Log[i]; e.Key == key {
			fmt.Fprintf(b, "  %v\n", e)
		}
	}
}

// neighbours tells of calls at the same time.
func (f *Failure) neighbours(b *strings.Builder, call *Call) {
	near := slices.Clone(f.History.Calls)
	near = slices.DeleteFunc(near, func(c *Call) bool {
		return c.Began < call.Began-5*time.Second || c.Began > call.Ended+time.Second || c.Bulk
	})
	slices.SortStableFunc(near, func(a, b *Call) int { return cmp.Compare(a.Began, b.Began) })
	for _, c := range near[:min(len(near), 40)] {
		fmt.Fprintf(b, "  %9.3fs to %9.3fs call %d (%s), %d commands: %v\n", c.Began.Seconds(), c.Ended.Seconds(), c.ID, c.Kind, len(c.Commands), c.Err)
	}
}
