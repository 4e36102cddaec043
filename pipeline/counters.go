package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/wire"
)

// CountersConfig is the settings of [Counters]. The zero value works.
type CountersConfig struct {
	// ExpireEveryHit sets the time to live again with each hit, by EXPIRE. Then a key lives
	// until it has not been hit for its TTL, and the key of a steady user never expires. By
	// default the hit that creates the key sets it: a fixed window that begins with its first
	// hit. EXPIRE also runs if the server refuses INCRBY, for example because the key holds no
	// number: the key gets the time to live nevertheless.
	ExpireEveryHit bool
}

// Counters counts hits on several keys in one call, each with a time to live, as a rate limiter
// does. Hits of several callers that wait for the same key travel as one INCRBY, so that a hot
// key may be hit more often than Redis can execute commands. Each caller still gets the total
// that it would get if the INCRBYs ran one after another. If Redis refuses the INCRBY, for example
// because it would overflow, none of its hits is counted, and all get the error.
//
// Up to eight hits on a key travel at once, each with an INCRBY of its own. While eight are under
// way, or one INCRBY for several hits is, further hits wait and travel together as the next one.
// If a hit waits for longer than 20 ms and until its deadline, the INCRBYs on its key that are under way
// count as late. Other hits do not wait for them. So a silent connection does not stop a key until eight
// INCRBYs are late.
//
// Make it with [CountersConfig.New]. The zero Counters refuses every hit. All methods are safe for
// concurrent use.
//
// # Time to live
//
// A hit with a TTL sends SET key 0 EX ttl NX, INCRBY and PTTL in one trip, so the key has its
// time to live before it is counted. If the replies show a key without one, EXPIRE follows in the
// same call. With ExpireEveryHit, EXPIRE takes the place of PTTL.
//
// Counters remember which keys have their time to live, and send INCRBY alone for them, or INCRBY
// and EXPIRE with ExpireEveryHit. They remember a key for half of the time that it has left, and
// ten seconds at most. They remember up to 65,536 keys, in 512 KiB.
//
// ACL users need SET, INCRBY, PTTL and EXPIRE, and PEXPIRE if a TTL is not a whole number of
// seconds. All versions of Redis and Valkey have these commands.
//
// When Hit has returned, a key that was counted has its time to live, with these exceptions:
//
//   - The error says "counted, but": EXPIRE has failed.
//   - A hit on the key, by any caller, has an unknown outcome, and one of these holds: the key had
//     no time to live before; it is gone although it was remembered; the server refused SET.
//   - Another client has removed the time to live, by SET or PERSIST, or by creating the key
//     again.
//   - Redis has lost a write that it had acknowledged.
//
// The next hit repairs such a key, unless its Counters still remember the key. They forget it
// after ten seconds at the latest.
type Counters struct {
	client *engine.Client
	cfg    CountersConfig
	seed   maphash.Seed
	shards [counterShards]counterShard

	expiries *expiries

	keys       sync.Pool // of *key
	sums       sync.Pool // of *sum that wait
	calls      sync.Pool // of *hitCall
	deliveries sync.Pool // of *delivery of keys that several callers count
	pipelines  sync.Pool // of *Pipeline, for what a delivery has to send besides
	deadlines  deadline.Contexts

	life context.Context // of what has no end of its own; Close ends it after engine.DrainTime
	end  context.CancelFunc

	merged    context.Context // of deliveries that have an end; ends with life, but not before the last call
	endMerged context.CancelFunc

	inside     gate.Gate // calls of Hit
	unattended gate.Gate // deliveries that nobody waits for in particular; calls and deliveries start them
}

// A Hit is one count of a call of [Counters.Hit], and its outcome.
type Hit struct {
	// Prefix and Key together are the key in Redis, so that a program need not join them. Hits
	// travel as one only if both are equal: always divide a key in the same way.
	Prefix, Key string

	By int64 // what is added; may be negative. The default 0 adds nothing
	// TTL is the key's time to live from its first hit on, or from this hit on with
	// ExpireEveryHit. 0 or less leaves it alone. Less than a millisecond counts as one, because a
	// program may set what is left of a window; a number without a unit counts nanoseconds. If
	// hits that travel together have different ones, the longest counts.
	TTL time.Duration

	Total int64 // the counter after the hit; 0 if it failed
	// Err is why the hit failed, as for a [Reply]. If the hit was counted and its key may have
	// no time to live, it is redislanes.ErrUnknownOutcome. Do not repeat such a hit.
	Err error
}

// NewCounters is [CountersConfig.New] under another name.
func NewCounters(client *cluster.Client, c CountersConfig) *Counters { return c.New(client) }

// New returns Counters for keys in the client's cluster. With a client that cluster.Config.New
// has not made, every hit is an error.
func (c CountersConfig) New(client *cluster.Client) *Counters {
	counters := &Counters{cfg: c, seed: maphash.MakeSeed(), expiries: &expiries{began: time.Now()}}
	if made := (*engine.Client)(client); made.Made() {
		counters.client = made
	}
	for i := range counters.shards {
		counters.shards[i].resizeLocked(fewestChains)
	}
	counters.life, counters.end = context.WithCancel(context.Background())
	counters.merged, counters.endMerged = context.WithCancel(context.Background())
	counters.pipelines.New = func() any { return New(client) }
	counters.keys.New = func() any { return new(key) }
	counters.sums.New = func() any { return new(sum) }
	counters.calls.New = func() any {
		call := &hitCall{done: make(chan struct{}, 1)}
		call.delivery.prepare(counters, false)
		return call
	}
	counters.deliveries.New = func() any {
		d := new(delivery)
		d.prepare(counters, true)
		return d
	}
	return counters
}

// Hit counts all hits and sets Total or Err of each. It returns nil if all succeeded, and an
// error otherwise. The same key may occur more than once.
//
// When the context ends, hits that were not sent are withdrawn (redislanes.ErrNotSent). Hits that
// were sent have an unknown outcome (redislanes.ErrUnknownOutcome). Their INCRBY goes on, for the
// hits of other callers in it.
func (c *Counters) Hit(ctx context.Context, hits []Hit) error {
	switch {
	case c.client == nil:
		return fail(hits, engine.ErrNoClient)
	case ctx == nil:
		return fail(hits, cause.ErrNilContext)
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
	own, _ := deadline.Channels(ctx)
	endless := own == nil
	if endless {
		ctx = c.lasting(ctx)
	}
	call := c.calls.Get().(*hitCall)
	call.begin(ctx, len(hits))
	c.join(call, hits)
	if len(call.sums) > 0 {
		call.send(ctx)
	}
	if err := call.wait(ctx); err != nil {
		if endless {
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

// A lasting context has the values of one that has no end, and ends with the Counters.
type lasting struct {
	context.Context // Counters.life
	values          context.Context
}

// lasting returns a context with the values of ctx. It is not used again: a Trace may keep it.
func (c *Counters) lasting(ctx context.Context) context.Context {
	if ctx == context.Background() {
		return c.life
	}
	return lasting{c.life, ctx}
}

// Value is part of context.Context.
func (l lasting) Value(key any) any {
	if v := l.values.Value(key); v != nil {
		return v
	}
	return l.Context.Value(key) // package context asks for what ends it
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

// String describes the Counters by their client.
func (c *Counters) String() string {
	if c == nil {
		return "pipeline.Counters(nil)"
	}
	return fmt.Sprintf("pipeline.Counters{%v}", c.client)
}

// Format prints String for every verb: fmt would read maps that are changing.
func (c *Counters) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// Close makes further calls of Hit fail with redislanes.ErrClosed. It waits for calls that are
// running and for commands that are under way: until their contexts end, or for five seconds if
// these have no end or their callers have left. Hits that travel with one that has no deadline have
// five seconds, too. The client stays open. Close always returns nil.
func (c *Counters) Close() error {
	c.inside.Shut()
	if c.end == nil {
		return nil // of no use: no call was let in
	}
	defer c.end()
	defer time.AfterFunc(engine.DrainTime, c.end).Stop()
	c.inside.Close()
	defer c.endMerged()
	defer context.AfterFunc(c.life, c.endMerged)()
	c.unattended.Close()
	return nil
}

func notCounted(err error) error { return wire.Named("INCRBY", "", err) }
