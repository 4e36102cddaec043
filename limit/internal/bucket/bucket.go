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

// A Rule is a bucket of Burst tokens, into which Quota tokens flow during a Window. All must be
// positive.
type Rule struct {
	Quota, Burst int64
	Window       time.Duration
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
	Rule Rule
	Cost int64 // tokens
	Mode Mode
	From Start  // for Return and Unlease
	Once string // a marker in the slot of the key: with it the draw takes effect once in MarkerTime, however often it is sent
	Now  string // microseconds, for tests; the server's time if empty

	Applied bool          // the tokens fit (a charge is taken even if not), or were given back as far as they could be
	Full    time.Duration // until the bucket is full, if nothing more is taken; beyond that of an empty bucket after a charge
	Began   Start         // of the tokens taken
	Err     error

	reply pipeline.Reply
}

// Append appends the draw to the pipeline.
func (d *Draw) Append(p *pipeline.Pipeline) {
	per := d.Rule.per()
	args := append(make([]string, 0, 9), d.Now,
		decimal(per), decimal(min(float64(d.Cost)*per, far)), decimal(float64(d.Rule.Burst)*per+d.Rule.half()), modes[d.Mode])
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
	var n []int64
	if d.Err = d.reply.Into(&n); d.Err == nil && len(n) != 6 {
		d.Err = fmt.Errorf("limit: the script has replied with %d numbers, want 6", len(n))
	}
	if d.Err != nil {
		d.Applied, d.Full, d.Began = false, 0, Start{}
		return
	}
	d.Applied, d.Full, d.Began = n[0] == 1, time.Duration(n[1]), Start{n[2], n[3], n[4], n[5]}
}

// per returns how many nanoseconds it takes until a token flows in.
func (r Rule) per() float64 { return float64(r.Window) / float64(r.Quota) }

// half returns the nanoseconds that rounding may cost.
func (r Rule) half() float64 { return min(500, r.per()/2) }

// Flow returns how long it takes until n tokens flow in.
func (r Rule) Flow(n int64) time.Duration { return duration(float64(n) * r.per()) }

// Remaining returns how many tokens a bucket has that is full after so long. If it owes tokens, that is negative.
func (r Rule) Remaining(full time.Duration) int64 {
	taken := math.Ceil((float64(full) - r.half()) / r.per())
	return r.Burst - int64(min(max(taken, 0), 1<<62))
}

// RetryAfter returns how long it takes until a bucket that is full after so long has the tokens; 0 if
// it has them now. It never has more than the burst.
func (r Rule) RetryAfter(full time.Duration, tokens int64) time.Duration {
	missing := float64(full) - float64(r.Burst-tokens)*r.per()
	if missing <= r.half() {
		return 0
	}
	return duration(math.Ceil(missing/1000) * 1000) // the server's clock has microseconds
}

// After returns where the tokens behind the first n begin.
func (r Rule) After(s Start, n int64) Start {
	passed := int64(float64(n) * r.per() / 1000)
	s.At, s.Taken = s.At+passed, s.Taken+passed
	return s
}

func duration(nanos float64) time.Duration {
	if nanos >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(nanos)
}
