package counter

import (
	"errors"
	"math"
	"math/bits"
	"time"

	redislanes "github.com/redislanes/redislanes"
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
	N     int64
	Bound int64 // the most that Total and the share of TotalBefore may be together

	// The share of the window before that counts is TotalBefore*Left/Length, rounded down.
	Left, Length time.Duration

	TTL time.Duration // of a key that the take creates, in whole seconds; at least one

	// The last word about the keys. Read sets it.
	Known            bool
	Used, UsedBefore int64

	// Doubt says that the key may have no time to live. The next take that counts then sets it. Read sets and
	// clears Doubt. Set it if an earlier take of the key has an unknown outcome.
	Doubt bool

	// The outcome, when Read has returned false.
	Applied     bool  // the hits are counted, or given back
	Total       int64 // in the window, with N if Applied; at least 0
	TotalBefore int64 // in the window before
	Lost        int64 // hits that did not fit and could not be given back: they may stay counted
	Err         error // as of a command of a pipeline. Then Applied is false, and the totals mean nothing

	step    step
	created bool  // EXPIRE goes along in this round
	exact   bool  // only a script may count, or INCREX
	check   bool  // the script looks for a time to live
	tries   int   // how often an old word was found
	failed  error // why the hits are given back, if not because they do not fit
	probing bool

	probe, main, before, expire pipeline.Reply
	numbers                     []int64
}

// A step is what a take asks in a round.
type step uint8

const (
	start  step = iota
	look        // GET, for both windows
	set         // SET NX GET
	incr        // INCRBY, and GET of the window before
	increx      // INCREX, and GET of the window before
	script      // the fitting script
	back        // gives back by INCREX
	backBy      // gives back by a script
	mend        // EXPIRE alone
)

// mostTries is how many old words deny a take.
const mostTries = 3

// far is the part of the room that hits may be for INCRBY: one in far.
const far = 16

// share returns the part of n hits in the window before that counts.
func (t *Take) share(n int64) int64 {
	if n <= 0 || t.Left <= 0 || t.Before == "" {
		return 0
	}
	if t.Left >= t.Length {
		return n
	}
	hi, lo := bits.Mul64(uint64(n), uint64(t.Left))
	q, _ := bits.Div64(hi, lo, uint64(t.Length))
	return int64(q)
}

// room returns how many hits fit by the last word.
func (t *Take) room() int64 { return t.Bound - min(t.Bound, plus(t.Used, t.share(t.UsedBefore))) }

func (t *Take) over() bool { return plus(t.Used, t.share(t.UsedBefore)) > t.Bound }

// end ends the take with an outcome.
func (t *Take) end(applied bool) {
	t.Applied, t.Total, t.TotalBefore = applied, t.Used, t.UsedBefore
}

// fail ends the take with an error.
func (t *Take) fail(err error) {
	t.Err = err
	t.Known = t.Known && (errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrRefused))
}

// hear notes the server's word. Negative totals count as 0, and huge ones as 2^62, as for the script.
func (t *Take) hear(used, before int64) {
	t.Known, t.Used, t.UsedBefore = true, min(max(0, used), 1<<62), min(max(0, before), 1<<62)
}

// plus adds two numbers that are not negative. A sum that is too large is MaxInt64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
