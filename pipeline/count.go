package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// This file alone knows how "count, with a time to live" looks on the wire. A key of which
// nothing is known takes three commands in one trip:
//
//	SET key 0 EX ttl NX   creates the key with its time to live
//	INCRBY key n          counts
//	PTTL key              says how long the key lives; with ExpireEveryHit: EXPIRE key ttl
//
// A key that is known to have its time to live takes INCRBY alone; with ExpireEveryHit: INCRBY
// and EXPIRE.

// Count adds n to the counter at key, and creates the key with a time to live if it does
// not exist: SET key 0 EX ttl NX, then INCRBY key n, in the same trip. Its reply is the new
// total. Every version of Redis and Valkey knows these commands.
//
// Wherever the connection breaks, a key that INCRBY creates expires: if INCRBY is sent again,
// SET is sent again in front of it. Count never changes the time to live of a key that has one.
//
// If SET finds the key and the total is n, the key has expired between the two commands, or its
// value was 0. Then Do asks for its time to live (PTTL), and sets it if there is none (EXPIRE): one
// or two more round trips. A key with another total and without a time to live gets none.
//
// If SET fails and the total is n, Do does the same. A key may be left without a time to live only if
// the outcome of INCRBY is unknown and SET had failed or the key expired between the two, or if PTTL
// or EXPIRE fails. Do returns an error in all these cases.
//
// Both commands count in Len and in Do's error. With a ttl of 0 or less Count is IncrBy. A ttl below
// a millisecond counts as one. ACL users need SET, INCRBY, PTTL and EXPIRE, and PEXPIRE if a ttl is
// not a whole number of seconds.
func (p *Pipeline) Count(key string, n int64, ttl time.Duration) Reply {
	k := fullKey{key: key}
	if ttl <= 0 || p.list.Unfit() != nil {
		return p.incrBy(k, n)
	}
	c := counted{key: key, by: n, ttl: ttl, created: p.create(k, ttl)}
	c.total = p.incrBy(k, n)
	p.counts = append(p.counts, c)
	return c.total
}

// A counted is what Count has appended.
type counted struct {
	key            string
	by             int64
	ttl            time.Duration
	created, total Reply // of SET and INCRBY
	end            Reply // of PTTL or EXPIRE, if INCRBY may have created the key
}

// mayBeEndless reports whether INCRBY may have created the key, because SET failed, or the key that
// SET had found or created expired before. So much time has passed since SET was sent.
func (c *counted) mayBeEndless(passed time.Duration) bool {
	if c.created.Err() == nil && !c.created.IsNull() && passed < c.ttl {
		return false
	}
	total, err := c.total.Int()
	return err == nil && total == c.by
}

// endCounts gives a time to live to keys that have none because they expired between SET and
// INCRBY. It returns an error if that may have failed.
func (p *Pipeline) endCounts(ctx context.Context, sent time.Time) error {
	var endless []*counted
	passed := time.Since(sent)
	for i := range p.counts {
		if c := &p.counts[i]; c.mayBeEndless(passed) {
			endless = append(endless, c)
		}
	}
	if len(endless) == 0 {
		return nil
	}
	client := (*cluster.Client)(p.list.Client())
	ask, set := New(client), New(client)
	for _, c := range endless {
		c.end = ask.Cmd("PTTL", c.key)
	}
	_ = ask.Do(ctx) // each has its error, here and below
	for _, c := range endless {
		if left, err := c.end.Int(); err == nil && left == -1 {
			c.end = set.Expire(c.key, c.ttl).Idempotent()
		}
	}
	_ = set.Do(ctx)
	failed := &redislanes.PipelineError{Total: p.Len()}
	for _, c := range endless {
		if err := c.end.Err(); err != nil {
			failed.First = cmp.Or(failed.First, mayLackEnd(err))
			failed.Failed++
		}
	}
	if failed.Failed == 0 {
		return nil
	}
	return failed
}

// create appends what creates the key at 0, with its time to live, unless it exists. It goes
// again in front of the command behind it.
func (p *Pipeline) create(key fullKey, ttl time.Duration) Reply {
	unit := "\r\n$2\r\nEX\r\n"
	command, n := expiry(ttl)
	if command != "EXPIRE" {
		unit = "\r\n$2\r\nPX\r\n"
	}
	b := append(p.list.Request.Buffer(), "*6\r\n$3\r\nSET\r\n"...)
	b = resp.AppendBulkOf(b, key.prefix, key.key)
	b = append(b, "$1\r\n0"...)
	b = append(b, unit...)
	b = resp.AppendBulkInt(b, n)
	r := p.commit(append(b, "$2\r\nNX\r\n"...), key)
	p.list.Request.Ahead(p.Len() - 1)
	return r.Idempotent()
}

// timeLeft appends PTTL for the key of the command before it, behind which it goes again.
func (p *Pipeline) timeLeft(key fullKey) Reply {
	b := append(p.list.Request.Buffer(), "*2\r\n$4\r\nPTTL\r\n"...)
	r := p.commit(resp.AppendBulkOf(b, key.prefix, key.key), key)
	p.list.Request.Expiry(p.Len() - 1)
	p.list.Request.Reads(p.Len() - 1)
	return r
}

// A count is hits on one key that travel as one INCRBY, and what became of them.
type count struct {
	key   fullKey
	by    int64
	ttl   time.Duration // 0 or less: the key's end is left alone
	every bool          // the time to live is set whether the key has one or not
	known bool          // the key has its time to live, as far as is known
	began time.Time     // when SET was sent

	created, counted, end Reply  // of SET, INCRBY, and what is about the key's end
	sent                  ending // what end replies to

	total  int64
	err    error         // why it was not counted, or is not known to be
	left   time.Duration // how long the key lives from when this was sent, at least; 0: it is not known
	set    error         // why SET is not known to have run
	expiry error         // it was counted, and the key may have no time to live
}

// An ending is what is sent about the end of a key.
type ending uint8

const (
	nothing ending = iota
	ask            // SET NX, and PTTL behind the rest
	expire         // EXPIRE
)

func (x *count) append(p *Pipeline) {
	unsure := x.ttl > 0 && !x.known
	if unsure {
		x.began = time.Now()
		x.created = p.create(x.key, x.ttl)
	}
	x.counted = p.incrBy(x.key, x.by)
	switch x.sent = nothing; {
	case x.ttl > 0 && x.every:
		x.appendEnd(p, expire)
	case unsure:
		x.appendEnd(p, ask)
	}
}

func (x *count) appendEnd(p *Pipeline, what ending) {
	if x.sent = what; what == expire {
		x.end = p.expireEach(x.key, x.ttl).Idempotent()
	} else {
		x.end = p.timeLeft(x.key)
	}
}

// read reads the replies, and returns what must be sent for a key that may have no time to
// live. If unsure is set, a key that was known to have one may have lost it.
func (x *count) read(unsure bool) ending {
	x.total, x.err = x.counted.Int()
	switch {
	case x.ttl <= 0 || !mayHaveRun(x.err):
		return nothing
	case x.known && x.err != nil:
		return ask
	case x.sent != nothing:
		return x.readEnd(false)
	case x.looksNew() || unsure:
		return ask
	}
	return nothing
}

// readEnd reads the replies about the key's end. With mending, they answer the commands of
// mending.run, not those of append.
func (x *count) readEnd(mending bool) ending {
	gave := false
	if x.sent == ask || !mending && !x.known {
		x.set = x.created.Err()
		gave = x.set == nil && !x.created.IsNull() && time.Since(x.began) < x.ttl
	}
	end, err := x.end.Int()
	switch {
	case err == nil && x.sent == expire:
		if end == 1 { // 0: the key is gone
			x.left = x.ttl
		}
	case err == nil && end == -1:
		return expire
	case err == nil:
		x.left = milliseconds(end)
	case x.sent == expire || mending:
		x.expiry = x.uncertain(err)
	case x.looksNew() && !gave:
		return expire
	case !gave:
		return ask
	}
	return nothing
}

// milliseconds returns so much time, 292 years at most: servers keep longer times.
func milliseconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(max(-most, min(n, most))) * time.Millisecond
}

// looksNew reports whether the total says that the key may not have existed.
func (x *count) looksNew() bool { return x.err == nil && x.total == x.by }

// uncertain returns the error of a count that ran, and whose key may have no time to live
// because of err.
func (x *count) uncertain(err error) error {
	if x.set != nil {
		err = fmt.Errorf("%w; %w", x.set, err)
	}
	return mayLackEnd(err)
}

// mayLackEnd returns the error of what was counted under a key that may have no time to live
// because of err.
func mayLackEnd(err error) error { return notCounted(wire.Unknown("", &expiryError{err})) }

// of returns the total and the error of one of the count's hits. One without a time to live
// does not care about the key's end.
func (x *count) of(total int64, h *hit) (int64, error) {
	switch {
	case x.err != nil:
		return 0, x.err
	case h.ttl > 0 && x.expiry != nil:
		return 0, x.expiry
	}
	return total, nil
}

// A mending is counts whose keys may have no time to live, and what is to be sent for them.
type mending struct {
	counts []*count
	what   []ending
}

func (m *mending) add(x *count, what ending) {
	if what != nothing {
		m.counts, m.what = append(m.counts, x), append(m.what, what)
	}
}

// run asks for the times to live, and sets those that are missing.
func (m mending) run(ctx context.Context, p *Pipeline) {
	for len(m.counts) > 0 {
		p.Reset()
		for i, x := range m.counts {
			if m.what[i] == ask {
				x.created = p.create(x.key, x.ttl)
			}
			x.appendEnd(p, m.what[i])
		}
		_ = p.Do(ctx) // each has its error
		var next mending
		for _, x := range m.counts {
			next.add(x, x.readEnd(true))
		}
		m = next
	}
}

// mayHaveRun reports whether a command with that error may have run: one that the server
// refused has not, but one has of which it could not be read what the server said.
func mayHaveRun(err error) bool {
	if err == nil || errors.Is(err, redislanes.ErrUnknownOutcome) {
		return true
	}
	if f, said := fateOf(err); said {
		return f.MayHaveRun()
	}
	return !errors.Is(err, redislanes.ErrNotSent)
}

func fateOf(err error) (f fate.Fate, said bool) {
	if err == nil {
		return 0, false // without the allocation for simple
	}
	var simple resp3.SimpleError
	if !errors.As(err, &simple) {
		return 0, false
	}
	return fate.Of([]byte(simple.S)), true
}
