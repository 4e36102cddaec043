// Package bucket is the token buckets in Redis: their script, what it replies, and what follows
// from that. It knows no limits and no callers.
package bucket

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A Rule is how fast a bucket fills, and how many tokens it holds. It is immutable. Make it with [NewRule].
type Rule struct {
	Burst int64
	Per   float64 // nanoseconds in which a token flows in

	half      float64 // nanoseconds that rounding may cost
	per, full string  // for the script: the lengths of a token, and of all tokens with half
}

// NewRule returns a bucket of burst tokens, into which quota tokens flow during a window.
func NewRule(quota, burst int64, window time.Duration) *Rule {
	r := &Rule{Burst: burst, Per: float64(window) / float64(quota)}
	r.half = min(500, r.Per/2)
	r.per, r.full = decimal(r.Per), decimal(float64(burst)*r.Per+r.half)
	return r
}

// A Mode says what a Draw does with its tokens.
type Mode uint8

// The modes of a Draw.
const (
	Take    Mode = iota // takes all of them, or none if there are too few
	Look                // takes none; the outcome is that of Take
	Charge              // takes all of them, even beyond the burst
	Lease               // is Take for tokens that are used later, each before it flows in: nothing taken before them is given back from then on
	Return              // gives back tokens of a Take or Charge, as far as they have not flowed in since
	Unlease             // gives back the last tokens of a Lease, if it is the latest one of the bucket or they are far ahead
	Last                // gives back the tokens taken last; a bucket is never more than full
)

var modes = [...]string{"take", "look", "charge", "lease", "return", "unlease", "last"}

// A Start is where the tokens of a draw begin. Only [Return] and [Unlease] need it. The zero Start gives back
// nothing.
type Start struct{ At, Taken, Floor, Since int64 }

// A Draw is one run of the script. Set the first fields, Append it to a pipeline, run that, and Read
// the outcome. It may be sent again then. It is not safe for concurrent use.
type Draw struct {
	Key  string
	Rule *Rule
	Cost int64 // tokens
	Mode Mode
	From Start  // for Return and Unlease
	Once string // a marker in the slot of the key: with it the draw takes effect once in MarkerTime, however often it is sent
	Now  string // microseconds, for tests; the server's time if empty

	Applied bool          // the tokens fit (a charge is taken even if not), or were given back as far as they could be
	Full    time.Duration // until the bucket is full, if nothing more is taken; beyond that of an empty bucket after a charge
	Began   Start         // of the tokens taken
	Err     error

	reply   pipeline.Reply
	numbers []int64
	memory  [6]int64 // of numbers
}

// Append appends the draw to the pipeline.
func (d *Draw) Append(p *pipeline.Pipeline) {
	r := d.Rule
	args := append(make([]string, 0, 9), d.Now, r.per, decimal(min(float64(d.Cost)*r.Per, far)), r.full, modes[d.Mode])
	if d.Mode == Return || d.Mode == Unlease {
		for _, n := range [...]int64{d.From.At, d.From.Taken, d.From.Floor, d.From.Since} {
			args = append(args, strconv.FormatInt(n, 10))
		}
	}
	if d.Once == "" {
		d.reply = p.Eval(script, []string{d.Key}, args...).Fast()
		return
	}
	d.reply = p.Eval(script, []string{d.Key, d.Once}, args...).Fast().Idempotent()
}

// far is longer than any bucket needs until it is full, in nanoseconds.
const far = 8e18

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Read sets the outcome from the reply, once the pipeline has run. With Once, the outcome of a draw
// that took effect earlier has nothing but Applied.
func (d *Draw) Read() {
	d.numbers = d.memory[:0]
	if d.Err = d.reply.Into(&d.numbers); d.Err == nil && len(d.numbers) != len(d.memory) {
		d.Err = fmt.Errorf("limit: the script has replied with %d numbers, want %d", len(d.numbers), len(d.memory))
	}
	if d.Err != nil {
		d.Applied, d.Full, d.Began = false, 0, Start{}
		return
	}
	n := d.numbers
	d.Applied, d.Full, d.Began = n[0] == 1, time.Duration(n[1]), Start{n[2], n[3], n[4], n[5]}
}

// Flow returns how long it takes until n tokens flow in.
func (r *Rule) Flow(n int64) time.Duration { return duration(float64(n) * r.Per) }

// Remaining returns how many tokens a bucket has that is full after so long. If it owes tokens, that is negative.
func (r *Rule) Remaining(full time.Duration) int64 {
	taken := math.Ceil((float64(full) - r.half) / r.Per)
	return r.Burst - int64(min(max(taken, 0), 1<<62))
}

// RetryAfter returns how long it takes until a bucket that is full after so long has the tokens; 0 if
// it has them now. It never has more than the burst.
func (r *Rule) RetryAfter(full time.Duration, tokens int64) time.Duration {
	missing := float64(full) - float64(r.Burst-tokens)*r.Per
	if missing <= r.half {
		return 0
	}
	return duration(math.Ceil(missing/1000) * 1000) // the server's clock has microseconds
}

// After returns where the tokens behind the first n begin.
func (r *Rule) After(s Start, n int64) Start {
	passed := int64(float64(n) * r.Per / 1000)
	s.At, s.Taken = s.At+passed, s.Taken+passed
	return s
}

func duration(nanos float64) time.Duration {
	if nanos >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(nanos)
}
