package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/wire"
)

// CountersConfig is the settings of [Counters]. The zero value works.
type CountersConfig struct {
	// ExpireEveryHit sets the time to live anew with each hit, as EXPIRE does.
	// Then a key lives until it has not been hit for its TTL. By default it is set
	// once, by the hit that creates the key, as EXPIRE NX does: that is the fixed
	// window of a rate limiter, which begins with its first hit. With
	// ExpireEveryHit the key of a steady user never expires.
	ExpireEveryHit bool
}

// Counters counts hits on many keys: INCRBY and EXPIRE for each in one call,
// as a rate limiter needs it. Hits of several callers on one key that wait at
// the same time travel as one INCRBY, so that a hot key may be hit more often
// than Redis can execute commands; each caller still gets the total that it
// would have got if all INCRBYs had run one after another.
//
// A key that nobody else is counting is counted at once, and so are up to eight hits
// on it beside each other. While more are out, or one INCRBY for several hits, further
// ones gather for the next. Make it with
// [NewCounters]; the zero Counters has no client and refuses every hit. All
// methods are safe for concurrent use.
//
// EXPIRE NX needs Redis 7. The first server that does not know it makes the
// Counters do the same by a script, which takes PTTL and PEXPIRE, for good.
//
// EXPIRE NX goes with a hit only if the key may have no time to live, which halves the
// commands of a steady load: for an eighth of the TTL, and at most ten seconds, after
// one was acknowledged, further hits of these Counters are sent as INCRBY alone. Behind
// those whose total says that the key was not there, or whose outcome is unknown, or
// while slots have moved, an EXPIRE is sent all the same. A time to live that somebody
// else takes away, by SET or PERSIST, is given again by a hit after that time. Of
// at most 65,536 keys it is known, which takes 512 KiB.
//
// A key that was counted is not left without its TTL. An EXPIRE of which the
// outcome is unknown is repeated. If the call ends before it is acknowledged, the
// hit has [redislanes.ErrExpiry] or an unknown outcome, and the Counters go on trying in the
// background: until the server answers, a hit on the key has done it, an hour has
// passed or Close is called, for at most 10,000 keys at a time. The error of a hit
// beyond these says so. A hit of which the outcome is unknown may run later than its EXPIRE,
// which found no key then. So EXPIRE and PTTL are sent for such a key, more and more rarely
// for a minute, until it is known to live for longer than that.
type Counters struct {
	client *engine.Client
	cfg    CountersConfig
	seed   maphash.Seed
	shards [counterShards]counterShard

	withoutNX atomic.Bool // a server does not know EXPIRE NX
	expiries  *expiries   // nil if each hit is to set the time to live

	pipelines sync.Pool // of *Pipeline
	calls     sync.Pool // of *hitCall
	flights   sync.Pool // of *flight
	lineups   sync.Pool // of *lineup
	carriers  sync.Pool // of *carrier
	groups    sync.Pool // of *group
	deadlines deadline.Contexts

	debts debts // keys whose EXPIRE is still to be done

	life context.Context // of what has no end of its own; Close ends it after closeTime
	end  context.CancelFunc

	inside gate.Gate // calls of Hit, carriers, and payments of debts
}

// A Hit is one key's part of a call of [Counters.Hit], and its outcome.
type Hit struct {
	// Prefix and Key together are the key in Redis, so that a program need not put
	// together keys that begin alike. Hits travel as one only if both are the same:
	// a program should divide a key in one way.
	Prefix, Key string

	By int64 // what is added; may be negative or 0
	// TTL is the key's time to live from its first hit on, or from this one with
	// ExpireEveryHit; 0 or less leaves it alone. Of hits that travel together, the
	// longest counts.
	TTL time.Duration

	Total int64 // the counter after the hit; 0 if it failed
	// Err is as of [Reply]. If the hit was counted and only its EXPIRE failed, it
	// is [redislanes.ErrExpiry], and Total is set.
	Err error
}

// NewCounters returns counters that live on the client's cluster. With a client that
// cluster.Config.New has not made every hit is an error.
func NewCounters(client *cluster.Client, c CountersConfig) *Counters {
	counters := &Counters{cfg: c, seed: maphash.MakeSeed()}
	if made := (*engine.Client)(client); made.Made() {
		counters.client = made
	}
	if !c.ExpireEveryHit {
		counters.expiries = &expiries{began: time.Now()}
	}
	for i := range counters.shards {
		counters.shards[i].out = make(map[uint64]*lineup)
	}
	counters.life, counters.end = context.WithCancel(context.Background())
	counters.debts.ctx, counters.debts.stop = context.WithCancel(context.Background())
	counters.pipelines.New = func() any { return New(client) }
	counters.calls.New = func() any { return counters.newCall() }
	counters.flights.New = func() any { return new(flight) }
	counters.lineups.New = func() any { return new(lineup) }
	counters.carriers.New, counters.groups.New = counters.newCarrier, counters.newGroup
	return counters
}

// Hit counts all hits and sets Total or Err of each. It returns nil if all
// succeeded, and an [Error] otherwise. The same key may be hit more than once.
//
// At the context's end the hits that have not left yet are taken back
// (redislanes.ErrNotSent), and those that are under way go on, for the hits that share
// their flights, with an unknown outcome (redislanes.ErrUnknownOutcome).
func (c *Counters) Hit(ctx context.Context, hits []Hit) error {
	switch {
	case c.client == nil:
		return fail(hits, errNoClient)
	case ctx == nil:
		return fail(hits, errNilContext)
	case !c.inside.Enter():
		return fail(hits, errClosed)
	}
	defer c.inside.Leave()
	if err := ctx.Err(); err != nil {
		return fail(hits, wire.NotSent("", err))
	}
	if len(hits) == 0 {
		return nil
	}
	if own, _ := deadline.Channels(ctx); own == nil {
		ctx = c.life
	}
	call := c.calls.Get().(*hitCall)
	call.begin(ctx, len(hits))
	c.join(call, hits)
	c.leave(ctx, call)
	if err := call.wait(ctx); err != nil {
		if ctx == c.life {
			err = errClosed
		}
		c.takeBack(call, hits, err) // the call is not used again: flights may still hold its members
	} else {
		call.land(hits)
		if call.handy() {
			c.calls.Put(call)
		}
	}
	return firstFailure(hits)
}

// fail ends a call that has not begun.
func fail(hits []Hit, err error) error {
	for i := range hits {
		hits[i].Total, hits[i].Err = 0, notCounted(err)
	}
	if len(hits) == 0 {
		return fmt.Errorf("pipeline: Hit: %w", err)
	}
	return firstFailure(hits)
}

func firstFailure(hits []Hit) error {
	var result *redislanes.PipelineError
	for i := range hits {
		if hits[i].Err == nil {
			continue
		}
		if result == nil {
			result = &redislanes.PipelineError{Total: len(hits), First: hits[i].Err}
		}
		result.Failed++
	}
	if result == nil {
		return nil
	}
	return result
}

// closeTime is how long Close waits for what has no end of its own.
const closeTime = 5 * time.Second

// Close makes further calls of Hit fail with redislanes.ErrClosed and waits for
// those that are running, and for what is under way, but not for servers that
// still owe an EXPIRE. Calls whose contexts cannot end, and what is under way for
// others without a deadline, end after five seconds; the others at their
// contexts' ends. The client stays open.
func (c *Counters) Close() error {
	c.inside.Shut()
	if c.debts.stop != nil {
		c.debts.stop()
	}
	if c.end != nil {
		defer c.end()
		defer time.AfterFunc(closeTime, c.end).Stop()
	}
	c.inside.Close()
	return nil
}

func notCounted(err error) error { return &redislanes.CommandError{Command: "INCRBY", Err: err} }
