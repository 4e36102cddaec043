package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redislanes/redislanes"
)

// A count is a flight, or one hit of it, as it goes to the server: an INCRBY and,
// behind it, what sees to the key's time to live. Only this file knows that these
// are two commands.
type count struct {
	total   Reply
	expiry  Reply
	expires bool
	known   bool // the key has its time to live already, as far as is known
}

// A counted is what became of a count.
type counted struct {
	total     int64
	err       error // why it was not counted, or is not known to be
	expiryErr error // an ErrExpiry: it was counted, and that is all
	owes      bool  // its EXPIRE is still to be done
}

// append appends a count of the key, without what sees to its time to live if it is
// known to have one.
func (c *Counters) append(p *Pipeline, key fullKey, by int64, ttl time.Duration, known bool) count {
	x := count{total: p.incrBy(key, by), expires: ttl > 0 && !known, known: ttl > 0 && known}
	if x.expires {
		x.expiry = c.appendExpiry(p, key, ttl)
		p.list.Request.Expiry(p.Len() - 1) // also if it is a script
	}
	return x
}

// expireIfNone is EXPIRE NX for servers that do not know it.
const expireIfNone = "if redis.call('PTTL',KEYS[1])==-1 then return redis.call('PEXPIRE',KEYS[1],ARGV[1]) end return 0"

// appendExpiry appends what sets the time to live, which may be done twice: if the
// outcome is unknown, that of INCRBY may be, too, and the key exist. It goes with
// each hit: that the total is the hit's own sum is no sign of a new key, and made a
// counter immortal when the reply to its first hit was lost.
func (c *Counters) appendExpiry(p *Pipeline, key fullKey, ttl time.Duration) Reply {
	if c.cfg.ExpireEveryHit {
		return p.expireEach(key, ttl).Idempotent()
	}
	return c.appendExpiryOnce(p, key, ttl)
}

// appendExpiryOnce appends what sets the time to live of a key that has none.
func (c *Counters) appendExpiryOnce(p *Pipeline, key fullKey, ttl time.Duration) Reply {
	if c.withoutNX.Load() {
		ms := max(ttl.Milliseconds(), 1)
		return p.Cmd("EVAL", expireIfNone, "1", key.String(), strconv.FormatInt(ms, 10)).Idempotent().Fast()
	}
	return p.expireNX(key, ttl).Idempotent()
}

// outcome returns what became of the count, once its pipeline was done.
func (x count) outcome() (o counted) {
	o.total, o.err = x.total.Int()
	if x.expires {
		o = o.after(x.expiry)
	}
	return o
}

// after returns what became of the count with that reply to its EXPIRE.
func (o counted) after(expiry Reply) counted {
	o.expiryErr, o.owes = nil, o.mayRunYet()
	if err := expiry.Err(); err != nil {
		o.expiryErr = &expiryError{err}
		o.owes = o.mayExist() && mayComeTrue(err)
	}
	return o
}

// forgotten says in its errors that nobody will go on trying to set the time to
// live.
func (o counted) forgotten() counted {
	if o.err != nil {
		o.err = fmt.Errorf("%w; %s", o.err, untried)
	}
	var expiry *expiryError
	if errors.As(o.expiryErr, &expiry) {
		o.expiryErr = &expiryError{fmt.Errorf("%w; %s", expiry.cause, untried)}
	}
	return o
}

// untried is why an EXPIRE is not done in the background.
var untried = fmt.Sprintf("only another hit will set the time to live: %d keys wait for theirs already, or the Counters were closed", mostDebts)

// of returns the total and the error of a hit that was counted like this. One
// without a time to live does not care what became of EXPIRE.
func (o counted) of(total int64, m *member) (int64, error) {
	switch {
	case o.err != nil:
		return 0, o.err
	case m.ttl > 0:
		return total, o.expiryErr
	}
	return total, nil
}

// send sends the flights in one pipeline.
func (c *Counters) send(ctx context.Context, flights []*flight) {
	p := c.load(flights)
	_ = p.Do(ctx) // each flight asks for its own error
	c.conclude(ctx, p, flights)
}

// load returns a pipeline with the flights.
func (c *Counters) load(flights []*flight) *Pipeline {
	p := c.pipelines.Get().(*Pipeline)
	p.Reset()
	var now uint32
	var owners uint64
	if c.expiries != nil {
		now, owners = c.expiries.now(), c.client.Owners()
	}
	for _, f := range flights {
		known := false
		if c.expiries != nil {
			f.mark, f.at = markOf(f.lineup.hash, owners), now
			known = !f.doubted.Load() && c.expiries.has(f.mark, now)
		}
		p.lastKey, p.lastSlot = f.lineup.key, int32(f.lineup.slot)
		f.sent = c.append(p, f.lineup.key, f.sum, f.ttl, known)
	}
	return p
}

// conclude notes what became of the flights, once their pipeline was done.
func (c *Counters) conclude(ctx context.Context, p *Pipeline, flights []*flight) {
	late, apart := false, false
	for _, f := range flights {
		f.outcome = f.sent.outcome()
		switch {
		case knowsNoNX(f.outcome.expiryErr):
			c.withoutNX.Store(true)
			f.late = f.outcome.mayExist()
		case f.sent.known:
			f.late = f.outcome.mayExist() && c.mayLackExpiry(f)
			f.outcome.owes = f.late // until it is done
		}
		c.learnExpiry(f)
		f.apart = len(f.members) > 1 && overflows(f.outcome.err)
		late, apart = late || f.late, apart || f.apart
	}
	if late {
		c.expireLate(ctx, p, flights)
	}
	if apart {
		c.flyApart(ctx, p, flights)
	}
	if len(flights) <= handyHits {
		c.pipelines.Put(p)
	}
}

// mayExist reports whether the INCRBY may have run.
func (o counted) mayExist() bool { return mayHaveRun(o.err) }

// mayRunYet reports whether the INCRBY may run after what was sent behind it: from another
// connection, which is slow or was given up.
func (o counted) mayRunYet() bool { return errors.Is(o.err, redislanes.ErrUnknownOutcome) }

// expireLate sets the times to live of flights by which it was found out that they
// need it: a server does not know EXPIRE NX, or a key was deleted meanwhile.
func (c *Counters) expireLate(ctx context.Context, p *Pipeline, flights []*flight) {
	p.Reset()
	for _, f := range flights {
		if f.late {
			f.sent.expiry = c.appendExpiry(p, f.lineup.key, f.ttl)
		}
	}
	_ = p.Do(ctx)
	for _, f := range flights {
		if f.late {
			f.outcome = f.outcome.after(f.sent.expiry)
			f.late, f.sent.known = false, false
			c.learnExpiry(f)
		}
	}
}

// flyApart counts the hits of flights one by one whose sum the server refused
// because it would overflow: its first parts may not, and each caller gets what it
// would have got alone. Any other refusal is that of all hits: one by one after an
// OOM, without the EXPIRE that had run in vain, they left 12,006 of 327,689 keys
// without a time to live.
func (c *Counters) flyApart(ctx context.Context, p *Pipeline, flights []*flight) {
	p.Reset()
	var counts []count
	for _, f := range flights {
		if !f.apart {
			continue
		}
		f.parts = slices.Repeat([]counted{uncertain}, len(f.members))
		for _, m := range f.members {
			counts = append(counts, c.append(p, f.lineup.key, m.by, m.ttl, false))
		}
	}
	_ = p.Do(ctx)
	for _, f := range flights {
		for i := range f.parts {
			f.parts[i] = counts[0].outcome()
			counts = counts[1:]
		}
	}
}
