package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A refresher fetches maps of the slots, one at a time, and knows what the log and the trace
// were told of them. It is for New and then for keepFresh, without a lock.
type refresher struct {
	client  *Client
	failing map[string]time.Time // since when the server at an address has given no map of ours

	// What the log was told of.
	strange map[string]string // why the maps of servers are not used
	since   time.Time         // since when refreshes fail; zero: the last one has succeeded
	failed  guard.Throttle
	moved   guard.Throttle
	told    *topology // the last map whose changes it was told of

	shown *topology // the last map that the trace was told of
}

// refresh asks servers in the order of candidates until a map can be used.
func (r *refresher) refresh(ctx context.Context) error {
	if err := r.poll(ctx); err != nil {
		r.client.counters.refreshErrors.Add(1)
		return err
	}
	r.client.counters.refreshes.Add(1)
	r.noteMoved()
	r.tellTopology()
	return nil
}

// candidates returns the addresses to ask, in their order:
//
//   - the nodes that MOVED has named, which know their slots best, or the one server in use,
//   - two of the other nodes,
//   - the seeds, since all nodes that are known may be gone,
//   - the rest of the nodes.
//
// Those with open connections come first, since asking them costs least. Nodes that are down or suspect
// come last: each holds up the next one. Sentinels are asked instead, if they have told the map.
func (c *Client) candidates(t *topology) []string {
	var best, known []string
	open := c.working()
	switch {
	case t.Map != nil && t.Map.Tellers != nil:
		known = slices.Clone(t.Map.Tellers)
	case t.Map != nil:
		for _, n := range t.Taught() {
			best = append(best, n.addr)
		}
		if t.Map.Kind == slots.Server {
			best = []string{t.Map.Addr()}
		}
		for _, n := range t.All() {
			known = append(known, n.addr)
		}
	}
	rand.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(rank(open, a), rank(open, b)) })
	var addrs []string
	for _, addr := range slices.Concat(best, known[:min(len(known), beforeSeeds)], c.seeds, known) {
		if !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	silent := c.silentNodes()
	slices.SortStableFunc(addrs, func(a, b string) int { return cmp.Compare(rank(silent, b), rank(silent, a)) })
	return addrs
}

// rank returns 0 for members, and 1 for others.
func rank(set map[string]bool, addr string) int {
	if set[addr] {
		return 0
	}
	return 1
}

// silentNodes returns the addresses of nodes that are down or suspect.
func (c *Client) silentNodes() map[string]bool {
	silent := make(map[string]bool)
	for _, n := range c.topology.Load().All() {
		for _, p := range n.open() {
			if p.Down() != nil {
				silent[n.addr] = true
			}
		}
	}
	return silent
}

// works returns a pool of the node that has connections and answers; nil if there is none.
func (n *node) works() *nodepool.Node {
	for _, p := range n.open() {
		if p.Down() == nil && p.Connected() {
			return p
		}
	}
	return nil
}

// openAt returns the open connections to the server at the address; nil if there are none, or if a caller whose
// connection they take would fail.
func (c *Client) openAt(addr string) wire.Submitter {
	if c.cfg.Pool.MaxWaiters < 0 {
		return nil
	}
	c.mu.Lock()
	n := c.nodes[addr]
	c.mu.Unlock()
	if n == nil {
		return nil
	}
	if p := n.works(); p != nil {
		return p
	}
	return nil
}

// gone reports whether the node, server or Sentinel at the address has been silent, or has refused, for so
// long that it has no say any more.
func (r *refresher) gone(addr string) bool {
	long := goneAfter
	if m := r.client.topology.Load().Map; m != nil && m.Kind == slots.Server {
		long = aloneAfter
	}
	since, failing := r.failing[addr]
	r.client.mu.Lock()
	n := r.client.nodes[addr]
	r.client.mu.Unlock()
	if n != nil {
		for _, p := range n.open() {
			var down *cause.Down
			switch {
			case p.HeardWithin(long):
				return false
			case errors.As(p.Down(), &down) && (!failing || down.Since.Before(since)):
				since, failing = down.Since, true
			}
		}
	}
	return failing && time.Since(since) >= long
}

// An asked is what became of the question to one address.
type asked struct {
	slots.Answer
	err error // why there is no map
}

// A polling is one refresh under way.
type polling struct {
	*refresher
	slots.Poll
	addrs   []string      // to ask, in this order
	next    int           // which of them is asked next
	pause   time.Duration // until then, while an answer is out
	answers chan asked
	left    chan struct{} // closed when nobody waits for answers
	failed  cause.Unreachable
	used    *slots.Map
}

// poll asks one address after the other, the next one as soon as the last has failed, cannot decide alone
// or is slow. It uses what it has at once.
func (r *refresher) poll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := r.client.topology.Load()
	p := &polling{refresher: r, Poll: slots.Poll{Use: t.Map, Seeds: r.client.seeds, Gone: r.gone},
		addrs: r.client.candidates(t), pause: mapStagger, answers: make(chan asked), left: make(chan struct{})}
	defer close(p.left)
	maps.DeleteFunc(r.failing, func(addr string, _ time.Time) bool { return !slices.Contains(p.addrs, addr) })
	stagger := time.NewTimer(0)
	defer stagger.Stop()
	var enough <-chan time.Time
	for answered := 0; answered < len(p.addrs); {
		var more <-chan time.Time
		if p.next < len(p.addrs) {
			more = stagger.C
		}
		select {
		case <-more:
			p.ask(ctx)
			stagger.Reset(p.pause)
		case a := <-p.answers:
			answered++
			if p.count(a) && p.decide() {
				return nil
			}
			stagger.Reset(0)
			if enough == nil && len(p.Answers) > 0 && (p.Use != nil || p.Answers[0].Map.Kind != slots.Watched) {
				enough = time.After(answersWait)
			}
		case <-enough:
			p.giveUpOthers()
			answered = len(p.addrs)
		case <-ctx.Done():
			p.last(p.next - answered)
			return withRest(&p.failed, p.addrs, ctx.Err())
		}
	}
	p.All = true
	if !p.decide() || p.used == nil {
		return &p.failed
	}
	return nil
}

// ask asks the next address.
func (p *polling) ask(ctx context.Context) {
	c, addr, use := p.client, p.addrs[p.next], p.Use
	p.next++
	c.tasks.Go(func() {
		a, err := c.cfg.Source.Ask(ctx, addr, c.openAt(addr), use)
		select {
		case p.answers <- asked{a, err}:
		case <-p.left:
		}
	})
}

// last counts the answers that are out when the context has ended. Each ends with it, and says better than the
// context what did not answer in time.
func (p *polling) last(out int) {
	patience := time.NewTimer(lastAnswers)
	defer patience.Stop()
	for ; out > 0; out-- {
		select {
		case a := <-p.answers:
			p.count(a)
		case <-patience.C:
			return
		}
	}
}

// decide uses the map that is chosen so far. It reports whether nobody else needs to be asked. The first
// contact waits for that.
func (p *polling) decide() (done bool) {
	choice := p.Choose()
	if choice.Map != nil && choice.Map != p.used && (choice.Done || p.Use != nil) {
		p.used = choice.Map
		p.client.use(choice.Map)
	}
	return choice.Done
}

// count adds what became of a question to the poll, and to the causes of a failure. It reports whether there
// is a map.
func (p *polling) count(a asked) bool {
	if a.err != nil {
		p.Failed++
		p.fails(a.Addr, a.err)
		return false
	}
	for _, addr := range a.Map.Tellers {
		if !slices.Contains(p.addrs, addr) {
			p.addrs = append(p.addrs, addr)
		}
	}
	p.Answers = append(p.Answers, a.Answer)
	why := p.Stranger(a.Answer)
	p.logStranger(a.Addr, why)
	if why != "" {
		p.pause = 0 // all of ours have the same time to answer
		p.fails(a.Addr, &cause.Map{Addr: a.Addr, Reason: why})
	} else {
		delete(p.failing, a.Addr)
	}
	return true
}

// fails notes that the server gave no map of ours.
func (p *polling) fails(addr string, err error) {
	p.failed.Causes = append(p.failed.Causes, cause.OfAddr{Addr: addr, Err: err})
	if p.failing[addr].IsZero() {
		p.failing[addr] = time.Now()
	}
}

// giveUpOthers counts the servers that have not answered yet as failed.
func (p *polling) giveUpOthers() {
	for _, addr := range p.addrs[:p.next] {
		if !slices.ContainsFunc(p.failed.Causes, func(c cause.OfAddr) bool { return c.Addr == addr }) &&
			!slices.ContainsFunc(p.Answers, func(a slots.Answer) bool { return a.Addr == addr }) {
			p.fails(addr, errNotWaitedFor)
		}
	}
	p.Failed = len(p.addrs) - len(p.Answers)
}

var errNotWaitedFor = errors.New("it has not answered before others had")

// logStranger warns of a server that is none of the cluster's, once until it has given a map that counts.
// Refreshes run one at a time.
func (r *refresher) logStranger(addr, why string) {
	if r.strange[addr] != why && why != "" {
		r.client.log.Note(guard.MapNotUsed, addr, why)
	}
	if r.strange[addr] = why; why == "" {
		delete(r.strange, addr)
	}
}
