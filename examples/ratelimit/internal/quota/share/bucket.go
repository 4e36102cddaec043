// Package share divides a limit among the clients of a quota bucket. It has no clock, no
// goroutine and no I/O: its methods are told the time.
//
// A client follows an assignment from some time after it was sent until its time to live ends.
// So a share that is taken away counts as in force until the client has confirmed the smaller
// one or the time to live of the larger one has ended. Only then do others get it.
package share

import (
	"math"
	"time"
)

// Settings are those of a [Bucket].
type Settings struct {
	// Window is the time that shares are for: a share of 5 is 5 hits in each window.
	Window time.Duration

	// TTL is the time to live of an assignment, from when the client receives it.
	TTL time.Duration

	// Delivery is how long an assignment takes to reach the client, at most.
	Delivery time.Duration

	// Silence is how long a client may send no report before its assignment is not renewed.
	Silence time.Duration

	// Idle is how long a client may have no hits before the bucket is abandoned.
	Idle time.Duration
}

// An ID names a client of a bucket.
type ID uint64

// An Assignment is for one client, and valid for Settings.TTL.
type Assignment struct {
	ID     ID
	Share  int64 // hits in a window, spread evenly; 0 denies all
	Tokens int64 // hits at once, at least 1 if Share is not 0; an assignment that differs from the last one begins with all of them

	Abandon bool // the client forgets the bucket; Share and Tokens are 0
}

// A Bucket divides a limit among clients. At no time are the shares in force more than the
// capacity. In no window are the shares and the tokens of new assignments together more than it, nor
// more than it was on average if the window is at most six times Settings.TTL long.
type Bucket struct {
	s                Settings
	capacity, target int64
	clients          []*client // in the order in which they joined
	fresh            fresh
	past             past
	capacities       past
}

// New returns a bucket without capacity: its clients are denied all hits.
func New(s Settings) *Bucket { return &Bucket{s: s} }

// SetCapacity sets how much may be in force together, and how much should be after clients have
// confirmed smaller shares. Target is at most capacity, or is taken to be.
func (b *Bucket) SetCapacity(capacity, target int64) {
	b.capacity, b.target = capacity, min(capacity, target)
}

// Unused tells that no other instance has had the capacity in the last window. By default it may have had
// all that comes after the first Decide.
func (b *Bucket) Unused() { b.capacities = past{} }

// Report tells that the client had so many hits, allowed or denied, since its last report. A
// client joins with its first report. Elapsed is how long that was, by the client; 0 if it did not say.
func (b *Bucket) Report(now time.Time, id ID, hits int64, elapsed time.Duration) {
	c := b.find(id)
	if c == nil {
		c = &client{id: id, seen: now, used: now}
		b.clients = append(b.clients, c)
	}
	c.report(now, hits, elapsed, &b.s)
}

// Leave tells that the client's stream has ended. Its assignment stays in force until its time to
// live ends.
func (b *Bucket) Leave(id ID) {
	if c := b.find(id); c != nil {
		c.gone = true
	}
}

// Sent tells that the assignment that Decide has returned for the client is sent now, and reports whether
// it may be. It may not half of Settings.Delivery later, since it could be in force after others
// have the share. Then Decide returns it again.
func (b *Bucket) Sent(now time.Time, id ID) bool {
	c := b.find(id)
	if c == nil || c.gone {
		return false
	}
	if now.Sub(c.sent) > b.s.Delivery/2 {
		c.sent = time.Time{}
		return false
	}
	c.queued = false
	return true
}

func (b *Bucket) find(id ID) *client {
	for _, c := range b.clients {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Held returns the capacity that cannot be given up at the time: what is in force, and the tokens
// that new assignments began with in the last window.
func (b *Bucket) Held(now time.Time) int64 {
	hits, _ := b.Spent(now)
	if reserve(b.capacity) == 0 {
		return max(b.InForce(now), hits)
	}
	return b.InForce(now) + hits
}

// Spent returns the tokens that new assignments began with and that still count, and when nothing that
// this instance has admitted counts any more: in windows that are not paid for, no token.
func (b *Bucket) Spent(now time.Time) (tokens int64, ends time.Time) {
	if n := len(b.fresh.entries); n > 0 {
		ends = b.fresh.entries[n-1].at.Add(b.span())
	}
	if n := len(b.past.steps); n > 0 && b.s.paid() {
		for _, last := range []time.Time{b.past.steps[n-1].at, b.Ends()} {
			if last = last.Add(b.span()); last.After(ends) {
				ends = last
			}
		}
	}
	return b.fresh.sum(now.Add(-b.span())), ends
}

// Ends returns when the last assignment ends; zero if none is in force.
func (b *Bucket) Ends() (last time.Time) {
	for _, c := range b.clients {
		for _, g := range []grant{c.now, c.before} {
			if g.share > 0 && g.ends.After(last) {
				last = g.ends
			}
		}
	}
	return last
}

// Wants returns the capacity that the clients could use.
func (b *Bucket) Wants(now time.Time) int64 {
	sum := b.inForceOf(now, false)
	for _, c := range b.clients {
		if !c.live(now, &b.s) {
			continue
		}
		if !c.known() {
			return math.MaxInt32
		}
		sum += c.want()
	}
	return min(math.MaxInt32, sum+sum/50+2)
}

// Empty reports whether the bucket has no clients and nothing is in force.
func (b *Bucket) Empty() bool { return len(b.clients) == 0 }

// span is how long the tokens of an assignment count after it was sent.
func (b *Bucket) span() time.Duration { return b.s.Window + b.s.Delivery }

// InForce returns the sum of the shares that clients may follow at the time.
func (b *Bucket) InForce(now time.Time) int64 {
	return b.inForceOf(now, true) + b.inForceOf(now, false)
}

// inForceOf returns the sum for clients that are live, or for those that are not.
func (b *Bucket) inForceOf(now time.Time, live bool) (sum int64) {
	for _, c := range b.clients {
		if c.live(now, &b.s) == live {
			sum += c.inForce(now)
		}
	}
	return sum
}

// reserve returns how much of a capacity is kept for the tokens that new assignments begin with.
func reserve(capacity int64) int64 {
	switch {
	case capacity < 2:
		return 0
	case capacity < 20:
		return 1
	}
	return max(2, capacity*3/200)
}
