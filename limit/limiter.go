package limit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/limit/internal/counter"
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

	// NearCache is how many keys the limiter remembers, with what Redis has said about them last and their
	// leases. Hits that do not fit by that are denied without a command, until it is as old as Budget, or
	// 100 ms. A key of more than 256 bytes is not remembered. Default 50,000; at most 10,000,000; negative for
	// 50,000 without denying.
	NearCache int

	// Instances, if not 0, is how many processes share the limits. While Redis cannot decide,
	// each process allows its share instead of failing open or closed. It uses a token bucket
	// for each key, with Quota / Instances tokens in a Window. A full bucket allows one request of
	// any cost; the next ones are denied until it is paid for. At most 100,000 keys have a bucket at a
	// time.
	Instances int

	// ServerTime makes windows follow the clocks of the servers instead of the clock of the process. All
	// processes that share a limit must use the same value. New, for Budget at most, and then a goroutine
	// every 5 s ask all primaries for their TIME. The median counts. Until a server has answered, the
	// process's clock does, and the client's log says so. If the servers refuse TIME, New fails. Token
	// buckets always use the clock of the server that has the key.
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
	server   counter.Server
	counts   *counts
	local    *local
	rules    *lru.Cache[Rule, *Limit] // of requests without a Limit
	calls    sync.Pool                // of *call
	scripted sync.Pool                // of *pipeline.Pipeline
	shown    sync.Pool                // of *[]Request, for the observer
	budgets  deadline.Contexts
	clock    func() string // of token buckets: "" for that of the server, another one in tests
	servers  serverTime

	epoch   time.Time       // just before the limiter was made
	inside  gate.Gate       // calls, and deliveries that no call waits for
	closing chan struct{}   // closed when Close begins
	closed  chan struct{}   // closed when Close is done
	life    context.Context // of deliveries; ends a budget after Close
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
	c.Budget, c.Prefix, c.Observer = cmp.Or(c.Budget, defaultBudget), cmp.Or(c.Prefix, defaultPrefix), guard(c.Observer, client)
	l := &Limiter{cfg: c, client: client, local: newLocal(c.Instances), epoch: time.Now().Add(-1), closing: make(chan struct{}), closed: make(chan struct{})}
	l.rules, _ = lru.New[Rule, *Limit](mostRules) // an error only for a size of 0
	l.counts = newCounts(cmp.Or(max(0, c.NearCache), defaultNear), l.evicted)
	l.life, l.end = context.WithCancel(context.Background())
	if c.ServerTime {
		if err := l.startServerTime(time.Now); err != nil {
			l.end()
			return nil, err
		}
	}
	l.clock = func() string { return "" }
	l.calls.New = func() any { return &call{batch: batch{limiter: l}} }
	l.scripted.New = func() any { return pipeline.New(client) }
	l.shown.New = func() any { return new([]Request) }
	return l, nil
}

// nearTime returns how old a word may be that denies.
func (c *Config) nearTime() time.Duration {
	if c.NearCache < 0 {
		return 0
	}
	return min(c.Budget, defaultBudget)
}

// Close waits for running calls and gives back the hits of denied calls and of leases, for the
// budget at most. Later calls are decided without Redis, with redislanes.ErrClosed. Close returns nil, or an
// error if New has not made the Limiter.
func (l *Limiter) Close() error {
	if !l.made() {
		return errNotMade
	}
	if !l.inside.Shut() {
		<-l.closed
		return nil
	}
	defer close(l.closed)
	time.AfterFunc(l.cfg.Budget, l.end)
	close(l.closing)
	l.endLeases()
	l.inside.Close()
	l.endLeases() // with what calls have given back meanwhile
	l.inside.Close()
	l.end()
	l.servers.ended.Wait()
	return nil
}

// made reports whether New has made the limiter. A program that goes on after an error of
// New has none.
func (l *Limiter) made() bool { return l != nil && l.counts != nil }

// age returns how much time has passed since the limiter was made, which is more than 0. What is known of keys has
// such times: they are smaller than a time.Time.
func (l *Limiter) age(now time.Time) time.Duration { return now.Sub(l.epoch) }

// pipe returns an empty pipeline. Its replies are valid until unpipe.
func (l *Limiter) pipe() *pipeline.Pipeline { return l.scripted.Get().(*pipeline.Pipeline) }

func (l *Limiter) unpipe(p *pipeline.Pipeline) {
	p.Reset()
	l.scripted.Put(p)
}
