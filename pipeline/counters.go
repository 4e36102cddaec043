package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

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
// Up to eight hits on a key travel at once, each with an INCRBY of its own, and four if their calls have one
// hit each. Further hits wait and travel together, as one INCRBY after the other. A hit leaves at its deadline.
// If the INCRBY that it waits for has been under way for 20 ms then, the other hits do not wait for it any
// longer.
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
	client   *engine.Client
	behind   ending // what goes behind INCRBY
	seed     maphash.Seed
	stripes  [stripes]stripe
	expiries *expiries

	calls     sync.Pool // of *hitCall
	keys      sync.Pool // of *mergedKey
	deadlines deadline.Contexts

	life   context.Context // of INCRBYs for several hits; Close ends it after engine.DrainTime
	end    context.CancelFunc
	inside gate.Gate // calls of Hit, and the goroutines that they start
}

// New returns Counters for keys in the client's cluster. With a client that cluster.Config.New
// has not made, every hit is an error.
func (c CountersConfig) New(client *cluster.Client) *Counters {
	counters := &Counters{behind: ask, seed: maphash.MakeSeed(), expiries: &expiries{began: time.Now()}}
	if c.ExpireEveryHit {
		counters.behind = expire
	}
	if made := (*engine.Client)(client); made.Made() {
		counters.client = made
	}
	counters.life, counters.end = context.WithCancel(context.Background())
	counters.calls.New = func() any {
		return &hitCall{counters: counters, p: New(client)}
	}
	counters.keys.New = func() any {
		k := &mergedKey{counters: counters, p: New(client)}
		k.run = k.deliver
		return k
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
	c.calls.Get().(*hitCall).run(ctx, hits)
	return firstFailure(hits)
}

// Format describes the Counters by their client for every verb of package fmt, which would read maps that
// are changing.
func (c *Counters) Format(f fmt.State, _ rune) {
	if c == nil {
		_, _ = fmt.Fprint(f, "pipeline.Counters(nil)")
		return
	}
	_, _ = fmt.Fprintf(f, "pipeline.Counters{%v}", c.client)
}

// Close makes further calls of Hit fail with redislanes.ErrClosed. It waits for calls that are
// running and for commands that are under way, for five seconds at most. After that, hits that travel
// together end with an unknown outcome, and other calls go on until their contexts end. The client stays
// open. Close always returns nil.
func (c *Counters) Close() error {
	if c.end == nil {
		c.inside.Shut()
		return nil // of no use: no call was let in
	}
	defer c.end()
	empty := make(chan struct{})
	go func() {
		defer close(empty)
		c.inside.Close()
	}()
	late := time.NewTimer(engine.DrainTime)
	defer late.Stop()
	select {
	case <-empty:
	case <-late.C:
	}
	return nil
}
