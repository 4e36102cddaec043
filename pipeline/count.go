package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// This file alone knows how "count, with a time to live" looks on the wire. A key of which
// nothing is known takes three commands in one trip:
//
//	SET key 0 EX ttl NX   creates the key with its time to live
//	INCRBY key n          counts
//	PTTL key              says how long the key lives; with ExpireEveryHit: EXPIRE key ttl;
//	                      [Pipeline.Count] sends neither
//
// A key that is known to have its time to live takes INCRBY alone; with ExpireEveryHit: INCRBY
// and EXPIRE. If the replies leave in doubt whether the key has a time to live, PTTL asks, and
// EXPIRE follows if the key has none.

// Count adds n to the counter at key, and creates the key with a time to live if it does
// not exist: SET key 0 EX ttl NX, then INCRBY key n, in the same trip. Its reply is the new
// total. Every version of Redis and Valkey knows these commands.
//
// Wherever the connection breaks, a key that INCRBY creates expires: if INCRBY is sent again,
// SET is sent again in front of it. Count never changes the time to live of a key that has one.
//
// If SET finds the key and the total is n, the key has expired between the two commands, or its
// value was 0. Then Do asks for its time to live (PTTL), and sets it if there is none (EXPIRE):
// one or two more round trips. A key with another total and without a time to live gets none.
//
// If SET fails and the total is n, Do does the same. A key may be left without a time to live only if
// the outcome of INCRBY is unknown and SET had failed or the key expired between the two, or if PTTL
// or EXPIRE fails. Do returns an error in all these cases.
//
// Both commands count in Len and in Do's error. With a ttl of 0 or less Count is IncrBy. A ttl below
// a millisecond counts as one; a positive one below a microsecond is an error. ACL users need SET,
// INCRBY, PTTL and EXPIRE, and PEXPIRE if a ttl is not a whole number of seconds.
func (p *Pipeline) Count(key string, n int64, ttl time.Duration) Reply {
	if ttl <= 0 || !p.list.Fit() {
		return p.IncrBy(key, n)
	}
	if err := unitless(ttl); err != nil {
		return p.refuse("INCRBY", err)
	}
	return p.count(count{key: key, by: n, ttl: ttl}, nothing).counted
}

// A count is one INCRBY, of one hit or of several, and what is known of its key's time to live.
type count struct {
	key string
	by  int64
	ttl time.Duration // 0 or less: the key's time to live is left alone
	belief

	set, counted, end Reply     // to SET, INCRBY, and what is about the key's time to live
	setAt             time.Time // when SET was sent
	sent, next        ending    // what end replies to, and what must be sent after it

	total  int64
	err    error         // why it was not counted, or is not known to be
	left   time.Duration // how long the key lives from when this was sent, at least; 0: it is not known
	expiry error         // it was counted, and the key may have no time to live
}

// An ending is what is sent about a key's time to live.
type ending uint8

const (
	nothing ending = iota
	ask            // PTTL
	expire         // EXPIRE
)

// count appends the commands of a count, with ask or expire behind INCRBY.
func (p *Pipeline) count(x count, behind ending) *count {
	unsure := x.ttl > 0 && !x.known
	if unsure {
		x.create(p)
	}
	x.counted = p.IncrBy(x.key, x.by)
	if x.ttl > 0 && behind == expire || unsure && behind == ask {
		x.append(p, behind)
	}
	p.counts = append(p.counts, x)
	return &p.counts[len(p.counts)-1]
}

// create appends what creates the key at 0, with its time to live, unless it exists. It goes
// again in front of the command behind it.
func (x *count) create(p *Pipeline) {
	unit := "\r\n$2\r\nEX\r\n"
	command, n := expiry(x.ttl)
	if command != "EXPIRE" {
		unit = "\r\n$2\r\nPX\r\n"
	}
	b := append(p.list.Request.Buffer(), "*6\r\n$3\r\nSET\r\n"...)
	b = resp.AppendBulk(b, x.key)
	b = append(b, "$1\r\n0"...)
	b = append(b, unit...)
	b = resp.AppendBulkInt(b, n)
	x.setAt = time.Now()
	x.set = p.commit(append(b, "$2\r\nNX\r\n"...), x.key)
	p.list.Request.Mark(p.Len()-1, engine.Ahead|engine.Repeatable)
}

// append appends the last command about the key's time to live, behind which PTTL or EXPIRE goes
// again if the command before it does.
func (x *count) append(p *Pipeline, what ending) {
	if x.sent = what; what == expire {
		x.end = p.expire(x.key, x.ttl, "").Idempotent()
		return
	}
	pair := p.follows(x.key)
	b := append(p.list.Request.Buffer(), "*2\r\n$4\r\nPTTL\r\n"...)
	x.end = p.commit(resp.AppendBulk(b, x.key), x.key)
	p.list.Request.Mark(p.Len()-1, engine.Reads|engine.Repeatable)
	if pair {
		p.list.Request.Mark(p.Len()-1, engine.Expiry)
	}
}

// endCounts reads the counts, and mends keys that may have no time to live. It returns an error if
// that may have failed.
func (p *Pipeline) endCounts(ctx context.Context) error {
	client := p.list.Client()
	owners := client.Owners()
	var doubtful []*count
	for i := range p.counts {
		x := &p.counts[i]
		if x.next = x.read(owners); x.next != nothing {
			doubtful = append(doubtful, x)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	mend(ctx, New((*cluster.Client)(client)), doubtful)
	failed := &redislanes.PipelineError{Total: p.Len()}
	for i := range p.counts {
		if err := p.counts[i].expiry; err != nil {
			failed.First = cmp.Or(failed.First, err)
			failed.Failed++
		}
	}
	if failed.Failed == 0 {
		return nil
	}
	return failed
}

// mend asks for the times to live of the counts' keys, and sets those that are missing.
func mend(ctx context.Context, p *Pipeline, counts []*count) {
	for len(counts) > 0 {
		p.Reset()
		for _, x := range counts {
			if x.next == ask && x.err != nil { // INCRBY may still run
				x.create(p)
			}
			x.append(p, x.next)
		}
		_ = p.Do(ctx) // each has its error
		counts = slices.DeleteFunc(counts, func(x *count) bool {
			x.next = x.readEnd(true)
			return x.next == nothing
		})
	}
}

// read reads the replies, and returns what must be sent for a key that may have no time to live.
// What is known of a key is not known of it under other owners of the slots.
func (x *count) read(owners uint64) ending {
	x.total, x.err = x.counted.Int()
	switch {
	case x.ttl <= 0 || !cause.MayHaveRun(x.err):
		return nothing
	case x.known && x.err != nil:
		return ask
	case x.sent != nothing:
		return x.readEnd(false)
	case x.known && x.owners != owners, x.looksNew() && !x.gave():
		return ask
	}
	return nothing
}

// readEnd reads the reply about the key's time to live.
func (x *count) readEnd(mending bool) ending {
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
		x.expiry = mayLackEnd(err)
	case !x.gave():
		return ask
	}
	return nothing
}

// gave reports whether SET has created the key, and so lately that it has not expired before INCRBY.
func (x *count) gave() bool {
	return x.set.Err() == nil && !x.set.IsNull() && time.Since(x.setAt) < x.ttl
}

// looksNew reports whether the total says that the key may not have existed.
func (x *count) looksNew() bool { return x.err == nil && x.total == x.by }

// milliseconds returns so much time, 292 years at most: servers keep longer times.
func milliseconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(max(-most, min(n, most))) * time.Millisecond
}

// mayLackEnd returns the error of what was counted under a key that may have no time to live
// because of err.
func mayLackEnd(err error) error { return notCounted(wire.Unknown("", &expiryError{err})) }

// of returns the total and the error of one of the count's hits. One without a time to live
// does not care about the key's.
func (x *count) of(total int64, ttl time.Duration) (int64, error) {
	switch {
	case x.err != nil:
		return 0, x.err
	case ttl > 0 && x.expiry != nil:
		return 0, x.expiry
	}
	return total, nil
}

// An expiryError says that a hit was counted and its key may have no time to live. The
// outcome of the cause is not shown: after ErrNotSent, callers would count the hit again.
type expiryError struct{ cause error }

func (e *expiryError) Error() string {
	rights := ""
	if f, said := cause.FateOf(e.cause); said && f == fate.NoPermission {
		rights = " (the user needs the right to send SET, INCRBY, PTTL and EXPIRE, and PEXPIRE for parts of seconds)"
	}
	return fmt.Sprintf("counted, but the time to live may not be set%s: %v", rights, e.cause)
}

// Is is part of errors.Is. Of the cause, it finds the end of the context.
func (e *expiryError) Is(target error) bool {
	return (target == context.DeadlineExceeded || target == context.Canceled) && errors.Is(e.cause, target)
}

// As is part of errors.As.
func (e *expiryError) As(target any) bool { return errors.As(e.cause, target) }

var (
	// errClosed is why Counters refuse hits after Close.
	errClosed = fmt.Errorf("the Counters are %w", redislanes.ErrClosed)

	errPanic = errors.New("a panic while it was sent")
)

// unitless returns why a time to live is none: nobody means a few nanoseconds.
func unitless(ttl time.Duration) error {
	if ttl <= 0 || ttl >= time.Microsecond {
		return nil
	}
	return fmt.Errorf("time to live of %v: a number without a unit counts nanoseconds: %w", ttl, redislanes.ErrNotSent)
}
