package counter

import (
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/limit/internal/window"
	"github.com/redislanes/redislanes/pipeline"
)

// A Take is an attempt to count N hits in a window, all or none. Set the fields of the first group
// before each take. A Take may be used again: it keeps the last word about its key. It is not safe for
// concurrent use.
type Take struct {
	Key    string // of the window
	Before string // a sliding window's key of the window before, in the same slot; "" for a fixed window

	// N is how many hits are counted. With 0 the take only looks. A negative N gives hits back: all, or none if
	// the key has fewer.
	N      int64
	Bound  int64         // the most that Used and the share of UsedBefore may be together
	Window window.Window // says which share of UsedBefore counts
	TTL    time.Duration // of a key that the take creates, in whole seconds

	// The last word about the hits in both windows. Read sets it, with N if Applied. It is 0 to 2^62.
	Used, UsedBefore int64

	// Known says that there is a last word, and that the key has an end. Read sets and clears it. Clear it if an
	// earlier take of the key has an unknown outcome.
	Known bool

	// The outcome, when Read has returned false.
	Applied bool  // the hits are counted, or given back
	Err     error // as of a command of a pipeline. Then Applied is false, and nothing new is known

	step                 step
	n                    int64 // hits that the step asks for: N, or -N if they went over
	main, before, expire pipeline.Reply
	numbers              []int64
	memory               [3]int64 // of numbers
}

// A step is what a take asks in a round.
type step uint8

const (
	start  step = iota
	look        // GET
	set         // SET NX GET
	incr        // INCRBY
	increx      // INCREX
	script      // the script
	mend        // EXPIRE
)

// Far is the part of the room that hits may be for INCRBY: one in Far.
const Far = 16

// room returns how many hits fit by the last word.
func (t *Take) room() int64 { return t.Bound - t.Used - t.share() }

func (t *Take) share() int64 { return t.Window.Share(t.UsedBefore) }

func (t *Take) far() bool { return t.n <= t.room()/Far }

// try asks for the hits by a step, if they fit by the last word. Otherwise they are denied.
func (t *Take) try(next step) {
	if t.n <= t.room() {
		t.step = next
	}
}

// hear notes the server's word. Negative totals count as 0, and huge ones as 2^62, as for the script.
func (t *Take) hear(used, before int64) {
	t.Used, t.UsedBefore = min(max(0, used), 1<<62), min(max(0, before), 1<<62)
}

// fail ends the take with an error.
func (t *Take) fail(err error) {
	t.Err = err
	t.Known = t.Known && !cause.MayHaveRun(err)
}
