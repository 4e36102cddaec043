package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
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
	// ExpireEveryHit sets the time to live again with each hit, by EXPIRE.
	// Then a key lives until it has not been hit for its TTL. By default it is set
	// once, by the hit that creates the key: that is the fixed
	// window of a rate limiter, which begins with its first hit. With
	// ExpireEveryHit the key of a steady user never expires.
	ExpireEveryHit bool
}

// Counters counts hits on many keys, each with a time to live, in one call, as a rate
// limiter needs it. Hits of several callers on one key that wait at
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
// # Time to live
//
// A hit with a TTL sends SET key 0 EX ttl NX, INCRBY and PTTL in one trip: the key has its
// time to live before it is counted. If the replies show a key without one, EXPIRE follows
// in the same call. A key that is known to have its time to live gets INCRBY alone, for half
// of the time that it has left and at most ten seconds. At most 65,536 keys are known, in
// 512 KiB. Users need the right to send SET, INCRBY, PTTL and EXPIRE. All versions of Redis
// and Valkey have these commands.
//
// When Hit has returned, a key that was counted has its time to live, with these exceptions:
//
//   - The hit's outcome is unknown, and SET was refused, or the key was there without a time to
//     live, or a key that was known had been deleted, or had expired while the command was under
//     way. If the error says "counted, but", EXPIRE failed, too.
//   - Others have taken the time to live away, by SET or PERSIST, or by deleting the key and
//     creating it without one.
//   - Redis has lost a write that it had acknowledged.
//
// The key then lives until a hit with a TTL finds it: the next one of Counters that do not
// know the key, and one after ten seconds at the latest of others. Close leaves nothing to be done.
type Counters struct {
	client *engine.Client
	cfg    CountersConfig
	seed   maphash.Seed
	shards [counterShards]counterShard

	expiries *expiries // nil if each hit is to set the time to live

	keys      sync.Pool // of *key
	sums      sync.Pool // of *sum that wait
	calls     sync.Pool // of *hitCall
	batches   sync.Pool // of *batch of keys that several callers count
	pipelines sync.Pool // of *Pipeline, for what a batch has to send besides
	deadlines deadline.Contexts

	life context.Context // of what has no end of its own; Close ends it after engine.DrainTime
	end  context.CancelFunc

	inside gate.Gate // calls of Hit, and batches that nobody waits for in particular
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
	// Err is as of [Reply]. The outcome of a hit that was counted, and whose key may have no
	// time to live, is unknown (redislanes.ErrUnknownOutcome): it must not be made again.
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
		counters.shards[i].keys = make(map[uint64]*key)
	}
	counters.life, counters.end = context.WithCancel(context.Background())
	counters.pipelines.New = func() any { return New(client) }
	counters.keys.New = func() any { return new(key) }
	counters.sums.New = func() any { return new(sum) }
	counters.calls.New = func() any {
		call := &hitCall{done: make(chan struct{}, 1)}
		call.batch.prepare(counters, false)
		return call
	}
	counters.batches.New = func() any {
		b := new(batch)
		b.prepare(counters, true)
		return b
	}
	return counters
}

// Hit counts all hits and sets Total or Err of each. It returns nil if all
// succeeded, and an [Error] otherwise. The same key may be hit more than once.
//
// At the context's end the hits that have not left yet are taken back
// (redislanes.ErrNotSent), and those that are under way go on, for the hits that share
// their INCRBY, with an unknown outcome (redislanes.ErrUnknownOutcome).
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
	if len(call.sums) > 0 {
		call.send(ctx)
	}
	if err := call.wait(ctx); err != nil {
		if ctx == c.life {
			err = errClosed
		}
		call.takeBack(hits, err) // the call is not used again: sums may still hold its hits
	} else {
		call.tell(hits)
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

// Close makes further calls of Hit fail with redislanes.ErrClosed and waits for
// those that are running, and for what is under way. Calls whose contexts cannot end, and what is under way for
// others without a deadline, end after five seconds; the others at their
// contexts' ends. The client stays open.
func (c *Counters) Close() error {
	c.inside.Shut()
	if c.end != nil {
		defer c.end()
		defer time.AfterFunc(engine.DrainTime, c.end).Stop()
	}
	c.inside.Close()
	return nil
}

func notCounted(err error) error { return wire.Named("INCRBY", "", err) }
