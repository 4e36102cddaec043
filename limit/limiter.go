package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/pipeline"
)

// Config is the settings of a [Limiter]. The zero value works.
type Config struct {
	// Prefix is what all keys begin with. Default "limit:".
	Prefix string

	// Budget is how long a call of Allow may take, if its context does not end
	// earlier. What Redis has not decided by then fails open or closed. Default
	// 100 ms; 1 ms to an hour.
	Budget time.Duration

	// NearCache is how many keys are remembered that are over their limit, so that
	// a key that is hit again and again costs no command: of a rule with CountDenied
	// until the window ends, or the tokens are there; of others for no longer than
	// Budget or 100 ms, since a key may be over its limit only because of hits that are about
	// to be given back. Of keys of more than 256 bytes, hashes are remembered. Default
	// 10,000; negative for none; at most 10,000,000.
	NearCache int

	// Instances, if not 0, is how many processes share the limits. While Redis
	// cannot decide, each of them allows its share: a token bucket in this process,
	// for each key, with Limit / Instances tokens in a Window, which when it is full
	// also allows a hit that costs more. It stands in for failing open or closed. At
	// most 100,000 keys have one at a time.
	Instances int

	// ServerTime makes windows follow the clocks of the servers. By default they follow the
	// clock of the process, and processes whose clocks differ count near the edge of a window
	// in different ones. All processes that share a limit must set it alike.
	//
	// New asks all primaries for their TIME, for Budget at most, and a goroutine asks them
	// again every 10 s. No call does. The clock in the middle counts. The error is at most half
	// of the shortest of three round trips, what the process's clock drifts in 10 s, and what
	// the servers' clocks differ. Until a server has answered, the process's clock counts. A
	// machine that resumes is late until the next answer. Token buckets and concurrency limits
	// always follow the server that has the key.
	ServerTime bool

	// Observer, if not nil, is told of decisions.
	Observer Observer
}

const (
	defaultPrefix = "limit:"
	defaultBudget = 100 * time.Millisecond
	mostBudget    = time.Hour
	defaultNear   = 10_000
	mostNear      = 10_000_000
)

// A Limiter decides about hits. Make it with [New]. All methods are safe for
// concurrent use.
type Limiter struct {
	cfg      Config
	counters *pipeline.Counters
	near     *near
	leases   *leases
	local    *local
	calls    sync.Pool // of *call
	scripted sync.Pool // of *pipeline.Pipeline
	shown    sync.Pool // of *[]Request, for the observer
	budgets  deadline.Contexts
	clock    func() string // of token buckets, in tests; nil: the server's
	servers  *serverTime   // nil: the process's

	inside  gate.Gate // calls, and hits that are being given back
	backlog backlog
	keeper  *keeper
	life    context.Context // of what gives hits back; ends a budget after Close
	end     context.CancelFunc
}

// New returns a limiter whose counts are on the client's cluster. The client stays
// the caller's: it must be closed after the limiter.
func New(client *cluster.Client, c Config) (*Limiter, error) {
	switch {
	case client == nil:
		return nil, errors.New("limit: the client is nil: use the one that cluster.Config.New returned")
	case c.Instances < 0:
		return nil, fmt.Errorf("limit: Config.Instances = %d: must not be negative", c.Instances)
	case c.NearCache > mostNear:
		return nil, fmt.Errorf("limit: Config.NearCache = %d: must be at most %d", c.NearCache, mostNear)
	}
	if err := setting.Duration("limit: Config.Budget", c.Budget, setting.Least, mostBudget, ""); err != nil {
		return nil, err
	}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	if c.NearCache == 0 {
		c.NearCache = defaultNear
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	l := &Limiter{cfg: c, counters: pipeline.NewCounters(client, pipeline.CountersConfig{}), near: newNear(max(0, c.NearCache)), local: newLocal(c.Instances)}
	l.leases = newLeases()
	l.life, l.end = context.WithCancel(context.Background())
	l.backlog = backlog{tell: l.tell, closed: make(chan struct{})}
	l.backlog.give = func(hits []pipeline.Hit, draws []*draw) { l.giveBack(context.Background(), hits, draws) }
	l.keeper = newKeeper(l)
	if c.ServerTime {
		l.startServerTime(client, time.Now)
	}
	l.calls.New = func() any { return new(call) }
	l.scripted.New = func() any { return pipeline.New(client) }
	l.shown.New = func() any { return new([]Request) }
	return l, nil
}

// Close waits for the calls that are running, and for a budget at most until the hits of
// denied ones, and those that leases have reserved, are given back. Then it releases the holds
// that are left, for a budget at most. Later calls are decided without Redis, with
// redislanes.ErrClosed.
func (l *Limiter) Close() error {
	if !l.made() {
		return errNotMade
	}
	if l.inside.Shut() {
		time.AfterFunc(l.cfg.Budget, l.end)
		close(l.backlog.closed)
	}
	l.inside.Close()
	l.backlog.ended.Wait()
	l.end()
	if l.servers != nil {
		l.servers.ended.Wait()
	}
	l.keeper.close()
	return l.counters.Close()
}

// made reports whether New has made the limiter. A program that goes on after an error of
// New has none.
func (l *Limiter) made() bool { return l != nil && l.counters != nil }

// A Limit is a [Rule] that hits can be counted by.
type Limit struct {
	rule   Rule
	head   string // of all its keys
	salt   uint64 // of its keys' hashes
	recent atomic.Pointer[heads]
}

// Limit returns a limit with the settings, or an error that names the one that
// cannot be used. It asks nobody: limits can be made at any time, and thrown away. Its
// keys begin with this limiter's Config.Prefix, also if another one is asked.
func (l *Limiter) Limit(r Rule) (*Limit, error) {
	if l == nil {
		return nil, errNotMade
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	return &Limit{rule: r, head: l.cfg.Prefix + r.Name + ":", salt: rand.Uint64()}, nil
}

// Rule returns the limit's settings.
func (l *Limit) Rule() Rule { return l.rule }

// A Request is a hit on one key of a limit.
type Request struct {
	Limit *Limit
	Key   string // what is limited, such as a user; any bytes
	Cost  int64  // how many hits it is. Default 1

	// Look asks whether the hit would be allowed, without counting it: it writes nothing. If
	// not, the whole call is denied, as by any other request of it.
	Look bool

	// Charge counts the hits whatever they cost, also beyond the limit, and also if
	// another request denies the call. Nothing is given back. The decision says whether they
	// were within the limit. If not, the call is denied, and RetryAfter is when a hit that
	// costs 1 may be allowed. A cost counts as 1,000,000,000,000 at most. A Look is no Charge.
	Charge bool
}

// A Decision is what became of a request, or of all requests of a call.
type Decision struct {
	Allowed bool
	Limit   int64 // that of the rule

	// Remaining is how many hits are allowed still, at this moment; of a look with its own.
	// Those that this limiter has reserved are among them, those that others have reserved
	// are not. If Leased is set, it is what the limiter knows from Redis' last replies.
	Remaining int64

	// ResetAfter is when all hits are allowed again, if there are none until then:
	// when the window ends, of a sliding window the next one, and of a bucket when
	// it is full. For a bucket with Leased set, it follows from Remaining.
	ResetAfter time.Duration

	// RetryAfter is when the request may be allowed, if nobody else has a hit
	// until then: 0 if it was, and [Never] if its cost, with those of the requests
	// before it in the call that have the same limit and key, is more than the limit.
	RetryAfter time.Duration

	// Leased says that the request was allowed without Redis, since this limiter had reserved
	// its hits.
	Leased bool

	// Near says that the request was denied without Redis, since the near cache
	// remembers that its key is over the limit.
	Near bool

	// Err is why Redis could not be asked, or its answer did not arrive: then the
	// decision is that of the rule's FailClosed, or of Config.Instances, and Remaining
	// and the times are 0. With redislanes.ErrUnknownOutcome the hit may have been
	// counted. A mistake in the request is an error, too.
	Err error

	from    int64 // where the tokens of a bucket begin that were taken
	counted bool  // as far as is known, also if Err is not nil
	mistake bool
	other   bool // allowed, in a call that is denied
}

// Never is the RetryAfter of a request that can never be allowed.
const Never time.Duration = 1<<63 - 1

// A Result is the decision about a call. If that is denied, it has the figures of the
// limit that denied it for longest, but those of a mistake before all others; else of
// the one with the least hits remaining. Err of a call that is allowed is the first
// one of those that were decided without Redis.
type Result struct {
	Decision

	// Each has the decisions about the requests, in their order, also those of
	// shadow limits. Of requests that Redis was not asked about, since another one
	// could not be allowed, only Limit is set.
	Each []Decision
}

// Allow decides about the requests, all of them or none. It returns after the
// budget, or at the context's end, at the latest. If Redis has not decided by then, also because the
// context had ended before the call, [Rule.FailClosed] decides. A call without requests is allowed.
//
// A call that is allowed takes no round trip if leases decide about all of its requests (see
// [Rule.NoLease]). Else it takes one, but for the first token bucket at a
// server, which does not know the script yet. If it is denied, what was counted of
// it is given back in a second one, unless the rule has CountDenied; that goes on
// behind the caller's back if it takes longer than the budget, and is tried again until the
// window ends. A call of several requests, one of whose keys was denied before in this
// window, looks in the first round trip and counts in the second. If the outcome of a hit or
// of a return is unknown, the hits stay counted until their window ends: a limit may then
// allow fewer hits, and not more.
func (l *Limiter) Allow(ctx context.Context, requests ...Request) Result {
	if !l.made() {
		c := call{each: make([]Decision, len(requests))}
		c.refuse(errNotMade)
		return c.result()
	}
	began := time.Now()
	return l.allowAt(ctx, began, began, requests)
}

// allowAt decides in the windows of now, which is not when the call began in tests
// alone.
func (l *Limiter) allowAt(ctx context.Context, now, began time.Time, requests []Request) Result {
	c := l.calls.Get().(*call)
	c.each = make([]Decision, len(requests))
	entered := l.inside.Enter()
	if entered {
		defer l.inside.Leave()
	}
	owes := false
	switch {
	case ctx == nil:
		c.refuse(errNilContext)
	case !c.begin(ctx, l, requests, now, began, entered): // it is decided already
	case !entered:
		c.fail(errClosed)
	default:
		owes = l.decide(ctx, c)
	}
	var result Result
	if owes {
		result = l.takeBack(ctx, c)
	} else {
		c.remember(l)
		result = c.result()
		l.done(c)
	}
	if l.cfg.Observer != nil {
		l.show(time.Since(began), requests, result)
	}
	return result
}

// show tells the observer. It gets a copy of the requests, so that the caller's need
// not be allocated.
func (l *Limiter) show(took time.Duration, requests []Request, result Result) {
	shown := l.shown.Get().(*[]Request)
	*shown = append((*shown)[:0], requests...)
	l.cfg.Observer.Decided(took, *shown, result)
	if clear(*shown); cap(*shown) <= largeCall {
		l.shown.Put(shown)
	}
}

// done lets the call go.
func (l *Limiter) done(c *call) {
	c.end()
	l.calls.Put(c)
}

// decide asks Redis, and reports whether hits have to be given back.
func (l *Limiter) decide(ctx context.Context, c *call) (owes bool) {
	if c.careful && l.looksDenied(ctx, c) {
		return false
	}
	if len(c.hits)+len(c.draws) > 0 { // else leases have decided, after a look
		l.askInTime(ctx, c)
	}
	c.decide(l)
	c.tell(l)
	return c.owes(l)
}

// looksDenied asks without counting, and reports whether the call is decided by that.
func (l *Limiter) looksDenied(ctx context.Context, c *call) bool {
	l.askInTime(ctx, c)
	if c.looksDenied() {
		c.decide(l)
		return true
	}
	c.prepare(ctx, l, false)
	return false
}

// askInTime asks within the budget.
func (l *Limiter) askInTime(ctx context.Context, c *call) {
	by := c.began.Add(l.cfg.Budget)
	if end, ends := ctx.Deadline(); ends && !end.After(by) {
		l.ask(ctx, c.hits, c.draws)
		return
	}
	own := l.budgets.Begin(ctx, by)
	defer l.budgets.End(own)
	l.ask(own, c.hits, c.draws)
}

// ask sends hits and draws, at once. Each has its error.
func (l *Limiter) ask(ctx context.Context, hits []pipeline.Hit, draws []*draw) {
	switch {
	case len(draws) == 0:
		_ = l.counters.Hit(ctx, hits)
	case len(hits) == 0:
		l.draw(ctx, draws)
	default:
		var counted sync.WaitGroup
		defer counted.Wait()
		counted.Go(func() { _ = l.counters.Hit(ctx, hits) })
		l.draw(ctx, draws)
	}
}

func (l *Limiter) draw(ctx context.Context, draws []*draw) {
	p := l.scripted.Get().(*pipeline.Pipeline)
	run(ctx, p, draws)
	if p.Reset(); len(draws) <= largeCall {
		l.scripted.Put(p)
	}
}

// now returns what stands in for the time of servers.
func (l *Limiter) now() string {
	if l.clock == nil {
		return ""
	}
	return l.clock()
}

var (
	errNotMade = errors.New("limit: the Limiter was not made by New: use one that it returned without an error")
	errNoLimit = errors.New("limit: Request.Limit is nil, or was not made by Limiter.Limit: use one that it returned")
	errBadCost = errors.New("limit: Request.Cost is negative")

	errClosed     = fmt.Errorf("redislanes: the Limiter is %w", redislanes.ErrClosed)
	errNilContext = errors.New("limit: the context is nil: pass one, such as context.Background()")
)
