package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// candidates returns the addresses to ask, in their order:
//
//   - the nodes that MOVED has named, which know their slots best, or the one server in use,
//   - nodes with open connections, since asking them costs least, or the Sentinels that have told the map,
//   - the seeds, since all nodes that are known may be gone,
//   - the rest of the nodes.
//
// Nodes that are down or suspect come last: each holds up the next one.
func (r *refresher) candidates(t *topology) []string {
	var best, open, known []string
	silent := make(map[string]bool)
	switch {
	case t.Map == nil:
	case t.Map.Tellers != nil:
		open = slices.Clone(t.Map.Tellers)
	default:
		for _, n := range t.Taught() {
			best = append(best, n.addr)
		}
		if t.Map.Kind == slots.Server {
			best = []string{t.Map.Addr()}
		}
		for _, n := range t.All() {
			known = append(known, n.addr)
			if n.silent() {
				silent[n.addr] = true
			} else if n.works() != nil {
				open = append(open, n.addr)
			}
		}
	}
	for _, some := range [][]string{open, known} {
		rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	}
	var addrs, last []string
	for _, addr := range slices.Concat(best, open, r.client.seeds, known) {
		to := &addrs
		if silent[addr] {
			to = &last
		}
		if !slices.Contains(*to, addr) {
			*to = append(*to, addr)
		}
	}
	return append(addrs, last...)
}

// openAt returns the open connections to the server at the address; nil if there are none, or if a caller whose
// connection they take would fail.
func (r *refresher) openAt(addr string) wire.Submitter {
	n := r.client.known(addr)
	if n == nil || r.client.cfg.Pool.MaxWaiters < 0 {
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
	if n := r.client.known(addr); n != nil {
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
		addrs: r.candidates(t), pause: mapStagger, answers: make(chan asked), left: make(chan struct{})}
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
			p.giveUp(p.addrs[:p.next], errNotWaitedFor)
			answered = len(p.addrs)
		case <-ctx.Done():
			p.giveUp(p.addrs, ctx.Err())
			return &p.failed
		}
	}
	p.All, p.Failed = true, len(p.addrs)-len(p.Answers)
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
		a, err := c.cfg.Source.Ask(ctx, addr, p.openAt(addr), use)
		select {
		case p.answers <- asked{a, err}:
		case <-p.left:
		}
	})
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
	if why == "" {
		delete(p.failing, a.Addr)
		delete(p.strange, a.Addr)
		return true
	}
	if !p.strange[a.Addr] {
		p.strange[a.Addr] = true
		p.client.log.Note(guard.MapNotUsed, a.Addr, why)
	}
	p.pause = 0 // all of ours have the same time to answer
	p.fails(a.Addr, fmt.Errorf("its map of the slots is not used: %s", why))
	return true
}

// fails notes that the server gave no map of ours.
func (p *polling) fails(addr string, err error) {
	p.failed.Causes = append(p.failed.Causes, cause.OfAddr{Addr: addr, Err: err})
	if p.failing[addr].IsZero() {
		p.failing[addr] = time.Now()
	}
}

// giveUp counts the servers that have not answered as failed.
func (p *polling) giveUp(addrs []string, err error) {
	for _, addr := range addrs {
		if !slices.ContainsFunc(p.failed.Causes, func(c cause.OfAddr) bool { return c.Addr == addr }) &&
			!slices.ContainsFunc(p.Answers, func(a slots.Answer) bool { return a.Addr == addr }) {
			p.fails(addr, err)
		}
	}
}

var errNotWaitedFor = errors.New("it has not answered before others had")
