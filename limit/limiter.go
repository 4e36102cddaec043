package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/pipeline"
)

// Config is the settings of a [Limiter]. The zero value works.
type Config struct {
	// Prefix is the beginning of all keys. Default "limit:". Its braces count for hash tags: after
	// an open one, a closing brace in a request's key ends the tag.
	Prefix string

	// Budget is how long a call may take if its context does not end earlier. Limits that Redis
	// has not decided by then fail open or closed. Default 100 ms; 1 ms to an hour.
	Budget time.Duration

	// NearCache is how many keys over their limit the limiter remembers. It denies their hits
	// without a command for Budget, at most 100 ms. With CountDenied it does so until the window
	// ends or the tokens have flowed in, since no hits are given back. For a key of
	// more than 256 bytes it remembers a hash. Default 10,000; negative for none; at most 10,000,000.
	NearCache int

	// Instances, if not 0, is how many processes share the limits. While Redis cannot decide,
	// each process allows its share instead of failing open or closed. It uses a token bucket
	// for each key, with Quota / Instances tokens in a Window. A full bucket allows one request of
	// any cost; the next ones are denied until it is paid for. At most 100,000 keys have a bucket at a
	// time.
	Instances int

	// ServerTime makes windows follow the clocks of the servers. By default they follow the
	// clock of the process. Then processes with different clocks count in different windows
	// for as long as the difference. All processes that share a limit must use the same value.
	//
	// New asks all primaries for their TIME, for Budget at most. A goroutine asks them again
	// every 10 s. Calls do not. The median of the primaries' clocks counts. The error is at most
	// the sum of half a round trip (the shortest of three), the drift of the process's clock in
	// 10 s, and the difference between the servers' clocks. Until a server has answered, the
	// process's clock counts; if none has answered New, the client's log says so. If all that answer
	// refuse TIME, New fails. After the machine was suspended, the windows are behind by the
	// length of the suspension until the next reading. Token buckets always use the clock of the server
	// that has the key.
	ServerTime bool

	// Observer, if not nil, is called with all decisions. limitmetrics.New makes one for
	// Prometheus.
	Observer Observer
}

const defaultPrefix = "limit:"

// A Limiter decides about hits. Make it with [New] or [Config.New]. All methods are safe for
// concurrent use.
type Limiter struct {
	cfg      Config
	client   *cluster.Client
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

	inside  gate.Gate     // calls, and hits that are being given back
	closed  chan struct{} // closed when Close is done
	backlog backlog
	life    context.Context // of what gives hits back; ends a budget after Close
	end     context.CancelFunc
}

// Format describes the limiter by its client for every verb of package fmt, which would read fields that
// are changing.
func (l *Limiter) Format(f fmt.State, _ rune) {
	if l == nil {
		_, _ = fmt.Fprint(f, "limit.Limiter(nil)")
		return
	}
	_, _ = fmt.Fprintf(f, "limit.Limiter{%v}", l.client)
}

// New is [Config.New] with the zero Config: a budget of 100 ms, keys that begin with "limit:".
func New(client *cluster.Client) (*Limiter, error) { return Config{}.New(client) }

// New returns a limiter that counts in the client's cluster. Close the limiter before the client.
// Settings that cannot be used are errors that name the field and the value.
func (c Config) New(client *cluster.Client) (*Limiter, error) {
	switch {
	case client == nil:
		return nil, errors.New("limit: the client is nil: use the one that cluster.Config.New returned")
	case !(*engine.Client)(client).Made():
		return nil, errors.New("limit: the client was not made with cluster.Config.New: use one that it returned without an error")
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
	c.Observer = guard(c.Observer, client)
	l := &Limiter{cfg: c, client: client, counters: pipeline.CountersConfig{}.New(client), near: newNear(max(0, c.NearCache)), local: newLocal(c.Instances), closed: make(chan struct{})}
	l.leases = newLeases()
	l.life, l.end = context.WithCancel(context.Background())
	l.backlog = backlog{tell: l.tell, near: l.near, closed: make(chan struct{})}
	l.backlog.give = func(hits []pipeline.Hit, draws []*draw) { l.giveBack(context.Background(), hits, draws) }
	if c.ServerTime {
		if err := l.startServerTime(client, time.Now); err != nil {
			l.end()
			return nil, err
		}
	}
	l.calls.New = func() any { return new(call) }
	l.scripted.New = func() any { return pipeline.New(client) }
	l.shown.New = func() any { return new([]Request) }
	return l, nil
}

// Close waits for running calls and gives back the hits of denied calls and of leases, for the
// budget at most. Then it waits up to five seconds for commands in flight that no caller waits for.
// Later calls are decided without Redis, with redislanes.ErrClosed. Close returns nil, or an error if
// New has not made the Limiter.
func (l *Limiter) Close() error {
	if !l.made() {
		return errNotMade
	}
	if !l.inside.Shut() {
		<-l.closed
		return l.counters.Close()
	}
	defer close(l.closed)
	time.AfterFunc(l.cfg.Budget, l.end)
	close(l.backlog.closed)
	l.inside.Close()
	l.backlog.ended.Wait()
	l.end()
	if l.servers != nil {
		l.servers.ended.Wait()
	}
	return l.counters.Close()
}

// made reports whether New has made the limiter. A program that goes on after an error of
// New has none.
func (l *Limiter) made() bool { return l != nil && l.counters != nil }

// pipe returns an empty pipeline. Its replies are valid until unpipe.
func (l *Limiter) pipe() *pipeline.Pipeline {
	p := l.scripted.Get().(*pipeline.Pipeline)
	p.Reset()
	return p
}

func (l *Limiter) unpipe(p *pipeline.Pipeline) {
	large := p.Len() > largeCall
	if p.Reset(); !large {
		l.scripted.Put(p)
	}
}

// Allow decides about the requests, all of them or none. It returns after the budget, or at the
// context's end, at the latest. If Redis has not decided by then, [Rule.FailClosed] decides, even if
// the context had ended before the call. A call without requests is allowed.
//
// A call with a mistake is denied, also by limits that fail open. Mistakes are a nil context, a request
// without a Limit, and a negative Cost. Err says what is wrong, and Outcome is [Mistaken].
//
// Its round trips:
//
//   - none, if leases decide about all requests (see [Rule.NoLease]), if the near cache denies one,
//     or if one costs more than its limit;
//   - one, for other calls that are allowed. A server that does not know the script of token
//     buckets yet needs one more;
//   - two, for other calls that are denied and have counted hits: the second gives them back. A
//     token bucket that denies has counted none. With CountDenied there is no second. After the
//     budget it goes on in the background, and is tried again until the window ends;
//   - two, for a call of several requests if one of them was denied before in this window: the
//     first looks, the second counts;
//   - one or two more, for a look, if the lease on its key changes meanwhile;
//   - one more, for a bucket, if neither Redis nor the lease alone has enough tokens, or if the
//     call has waited for a refill that was too small.
//
// If the outcome of a hit or of a return is unknown, the hits stay counted until their window ends.
// The limit may then allow fewer hits, never more.
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
	result := l.allowed(ctx, now, began, requests)
	if l.cfg.Observer != nil { // which Close does not wait for: it may call Close
		l.show(time.Since(began), requests, result)
	}
	return result
}

func (l *Limiter) allowed(ctx context.Context, now, began time.Time, requests []Request) Result {
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
		c.fail(l, errClosed)
		c.owes(l) // nothing to Redis
	default:
		owes = l.decide(ctx, c)
	}
	for i := range c.each {
		c.each[i].noteLeft(ctx)
	}
	if owes {
		return l.takeBack(ctx, c)
	}
	c.remember(l)
	result := c.result()
	l.done(c)
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
	c.at = c.at.Add(time.Since(c.began)) // tokens of leases have flowed in meanwhile
	c.prepare(ctx, l, false)
	return false
}

// askInTime asks within the budget.
func (l *Limiter) askInTime(ctx context.Context, c *call) {
	by := c.began.Add(l.cfg.Budget)
	if end, ends := ctx.Deadline(); !ends || end.After(by) {
		own := l.budgets.Begin(ctx, by)
		defer l.budgets.End(own)
		ctx = own
	}
	l.ask(ctx, c.hits, c.draws)
	c.askAgain(ctx, l)
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

var (
	errNotMade = errors.New("limit: the Limiter was not made by New: use one that it returned without an error")
	errNoLimit = errors.New("limit: Request.Limit is nil, or was not made by Rule.New: use one that it returned")

	errLookAtMost = errors.New("limit: AllowAtMost with Request.Look: call Allow, and read Decision.Remaining")

	errClosed     = fmt.Errorf("redislanes: the Limiter is %w", redislanes.ErrClosed)
	errNilContext = errors.New("limit: the context is nil: pass one, such as context.Background()")
)
