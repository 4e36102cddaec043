package pipeline

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// A debt is a key that may exist without its time to live: its INCRBY ran, or
// may have run, and its call ended before EXPIRE was acknowledged. Nobody may
// ever hit it again, so its EXPIRE is sent on, behind the callers' backs.
//
// An INCRBY of which the outcome is unknown may run later, from a connection that is
// slow or was given up: an EXPIRE on another one overtakes it, and finds no key. Such
// a key is owed its EXPIRE until no INCRBY can run any more, or for as long as that has
// its time to live.
type debt struct {
	ttl   time.Duration
	until time.Time // then it is given up
	ran   bool      // its INCRBY has
	heard time.Time // if not: when the server answered first
	again time.Time // if not: when it is asked again
}

type debts struct {
	mu     sync.Mutex // guards what follows; never held across I/O
	keys   map[string]debt
	paying bool // a goroutine is

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

const (
	mostDebts   = 10_000
	debtLife    = time.Hour
	debtsAtOnce = 500 // in one pipeline
	debtWait    = time.Second

	minDebtPause = 50 * time.Millisecond
	maxDebtPause = time.Second

	// mostLate is for how long an INCRBY may run after the server has answered others:
	// TCP sends what a closed connection has left again after 51 s at most.
	mostLate     = time.Minute
	maxLatePause = 5 * time.Second // between two questions for its key
)

// owe remembers the key, of which the INCRBY has run or may run yet, unless there are too
// many of them or Close was called.
func (c *Counters) owe(key string, ttl time.Duration, ran bool) (remembered bool) {
	d := &c.debts
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.keys[key]
	if d.ctx.Err() != nil || !known && len(d.keys) >= mostDebts {
		return false
	}
	if d.keys == nil {
		d.keys = make(map[string]debt)
	}
	d.keys[key] = debt{ttl: ttl, until: time.Now().Add(debtLife), ran: ran && (!known || before.ran)}
	if !d.paying {
		d.paying = true
		c.inside.Stay() // a flight has not landed yet, so Close still waits
		go c.pay()
	}
	return true
}

// pay sends what is owed until nothing is, or to the end.
func (c *Counters) pay() {
	defer c.inside.Leave()
	for pause := minDebtPause; ; pause = min(2*pause, maxDebtPause) {
		select {
		case <-time.After(rand.N(pause) + 1):
		case <-c.debts.ctx.Done():
		}
		if due, owed := c.debts.due(); !owed {
			return
		} else if len(due) > 0 && c.payThese(due) {
			pause = minDebtPause
		}
	}
}

// A payment is the EXPIRE of a key that is owed it.
type payment struct {
	key    string
	debt   debt
	expiry Reply
	left   Reply // how long the key has; of one whose INCRBY may run yet
}

// due returns some of what is to be paid now, and whether anything is owed. If nothing is,
// or after Close, nobody is paying any more.
func (d *debts) due() (some []payment, owed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, closed := time.Now(), d.ctx.Err() != nil
	for key, what := range d.keys {
		if closed || now.After(what.until) {
			delete(d.keys, key)
			continue
		}
		if now.Before(what.again) {
			continue
		}
		if some = append(some, payment{key: key, debt: what}); len(some) == debtsAtOnce {
			break
		}
	}
	if len(d.keys) == 0 {
		d.paying, d.keys = false, nil
	}
	return some, d.paying
}

// payThese sends EXPIRE for the keys, and reports whether any debt is settled.
func (c *Counters) payThese(some []payment) (settled bool) {
	ctx, cancel := context.WithTimeout(c.debts.ctx, debtWait)
	defer cancel()
	p := New((*cluster.Client)(c.client))
	byScript := c.withoutNX.Load()
	for i := range some {
		c.appendPayment(p, &some[i])
	}
	_ = p.Do(ctx)
	c.debts.mu.Lock()
	defer c.debts.mu.Unlock()
	for i := range some {
		x := &some[i]
		err := x.expiry.Err()
		switch {
		case !byScript && knowsNoNX(err):
			c.withoutNX.Store(true) // and the debt stays
		case mayComeTrue(err) || c.debts.keys[x.key] != x.debt: // or the key is owed anew
		case err == nil && !x.debt.ran && x.debt.staysAt(time.Now(), x.left):
			c.debts.keys[x.key] = x.debt
		default:
			delete(c.debts.keys, x.key)
			settled = true
		}
	}
	return settled
}

// appendPayment appends the key's EXPIRE. One that is repeated does not move the key's end.
func (c *Counters) appendPayment(p *Pipeline, x *payment) {
	key := fullKey{key: x.key}
	if x.debt.heard.IsZero() {
		x.expiry = c.appendExpiry(p, key, x.debt.ttl)
	} else {
		x.expiry = c.appendExpiryOnce(p, key, x.debt.ttl)
	}
	if !x.debt.ran {
		x.left = p.Cmd("PTTL", x.key)
	}
}

// staysAt reports whether an INCRBY may run when the key, which has so many milliseconds
// left, is gone, and notes when to ask again.
func (d *debt) staysAt(now time.Time, left Reply) bool {
	if d.heard.IsZero() {
		d.heard = now
	}
	ms, _ := left.Int() // negative: it has no end, or does not exist
	over, gone := d.heard.Add(mostLate), now.Add(time.Duration(max(ms, 0))*time.Millisecond)
	d.again = now.Add(min(max(now.Sub(d.heard), minDebtPause), maxLatePause))
	if d.again.Before(gone) {
		d.again = gone
	}
	return now.Before(over) && gone.Before(over)
}
