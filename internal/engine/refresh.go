package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
)

// hint asks for a refresh soon. It never blocks.
func (c *Client) hint() {
	select {
	case c.stale <- struct{}{}:
	default:
	}
}

// Sync fetches the map of the slots now and returns when it is in use.
func (c *Client) Sync(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.syncs = append(c.syncs, done)
	c.mu.Unlock()
	c.hint()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("redislanes: waiting for a refresh: %w", ctx.Err())
	case <-c.ctx.Done():
		return errClosed
	}
}

// keepFresh refreshes when it is hinted at, asked to by Sync, and now and then,
// one at a time. Until there is a map ([Config.Lazy]), it tries again after a pause.
func (c *Client) keepFresh() {
	var tick <-chan time.Time
	if c.cfg.RefreshEvery > 0 {
		ticker := time.NewTicker(c.cfg.RefreshEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	spacing := time.NewTimer(0)
	defer spacing.Stop()
	var spaced <-chan time.Time // not nil while a refresh is due when spacing fires
	if c.topology.Load().Map == nil {
		spaced = spacing.C
	}
	next := time.Now()
	var pace pacer
	for failures := 0; ; {
		select {
		case <-c.stale:
			if c.nobodySyncs() {
				if spaced == nil {
					spacing.Reset(time.Until(next))
					spaced = spacing.C
				}
				continue
			}
		case <-spaced:
		case <-tick:
		case <-c.ctx.Done():
			return
		}
		spaced = nil
		c.refreshForAll()
		now := time.Now()
		next = now.Add(pace.after(now))
		if c.topology.Load().Map == nil {
			spacing.Reset(startPause(failures))
			spaced = spacing.C
			failures++
		}
	}
}

func (c *Client) nobodySyncs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.syncs) == 0
}

// refreshForAll refreshes and tells the callers of Sync that wait.
func (c *Client) refreshForAll() {
	c.mu.Lock()
	waiting := c.syncs
	c.syncs = nil
	c.mu.Unlock()
	err := c.refresher.refresh(c.ctx)
	if err != nil && c.topology.Load().Map == nil {
		c.notStarted.Store(&err) // before anybody can ask
	}
	c.refresher.noteRefreshed(err)
	for _, done := range waiting {
		done <- err
	}
}

// A refresher fetches maps of the slots, one at a time, and knows what the log and the trace
// were told of them. It is for New and then for keepFresh, without a lock.
type refresher struct {
	client *Client
	anew   *slots.Map // of a cluster made anew, if the last refresh has found one

	// What the log was told of.
	strange map[string]slots.Flaw // servers that are none of the cluster's
	skipped map[slots.Skip]bool   // nodes that are left out of maps
	failing time.Time             // since when refreshes fail; zero: the last one has succeeded
	took    time.Duration         // to verify the last primary that a Sentinel has named
	starts  int                   // refreshes before there was a map
	failed  guard.Throttle
	moved   guard.Throttle
	told    *topology // the last map whose changes it was told of

	shown *topology // the last map that the trace was told of
}

// refresh asks the known nodes in random order, then the seeds, until a map of
// the slots can be believed. It uses connections of its own: the pools may be
// saturated, and the question must not wait behind requests.
func (r *refresher) refresh(ctx context.Context) error {
	t := r.client.topology.Load()
	if t.Map == nil {
		r.starts++
	}
	said, err := r.ask(ctx, t, r.client.candidates(t))
	if err != nil {
		r.client.counters.refreshErrors.Add(1)
		return err
	}
	r.client.counters.refreshes.Add(1)
	r.client.use(t, said)
	r.client.readmit(t.Map, said)
	r.noteMoved()
	r.tellTopology()
	return nil
}

// candidates returns the addresses to ask, in their order:
//
//   - the nodes that MOVED has named, which know their slots best (with Config.Standalone, the
//     server in use),
//   - two of the other nodes,
//   - the seeds, since all nodes that are known may be gone,
//   - the rest of the nodes.
//
// Nodes that are down or suspect come last: each holds up the next one.
func (c *Client) candidates(t *topology) []string {
	if c.cfg.Sentinel != nil {
		return c.sentinels(t)
	}
	var addrs []string
	seen := make(map[string]bool)
	add := func(addr string) {
		if !seen[addr] {
			seen[addr] = true
			addrs = append(addrs, addr)
		}
	}
	if c.cfg.Standalone && t.Map != nil { // the server in use: no other one knows more
		add(t.Map.Claims[0].Addr)
	} else {
		for _, l := range t.Taught() {
			add(l.Addr)
		}
	}
	var known []string
	for _, n := range t.All() {
		known = append(known, n.addr)
	}
	rand.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	for _, addr := range slices.Concat(known[:min(len(known), beforeSeeds)], c.seeds, known) {
		add(addr)
	}
	silent := c.silentNodes()
	slices.SortStableFunc(addrs, func(a, b string) int { return cmp.Compare(silent[a], silent[b]) })
	return addrs
}

// silentNodes returns 1 for the addresses of nodes that are down or suspect.
func (c *Client) silentNodes() map[string]int {
	silent := make(map[string]int)
	for _, n := range c.topology.Load().All() {
		for _, p := range n.open() {
			if p.Down() != nil {
				silent[n.addr] = 1
			}
		}
	}
	return silent
}

// works tells whether the node has connections and answers.
func (n *node) works() bool {
	for _, p := range n.open() {
		if p.Down() == nil && p.Connected() {
			return true
		}
	}
	return false
}

// heardNodes returns the addresses of nodes that have answered commands just now. A server may
// answer over open connections although new ones to it fail.
func heardNodes(t *topology) (heard []string) {
	for _, n := range t.All() {
		if slices.ContainsFunc(n.open(), func(p *nodepool.Node) bool { return p.HeardWithin(strangersWait) }) {
			heard = append(heard, n.addr)
		}
	}
	return heard
}

// ask asks one address after the other, the next one as soon as the last has
// failed, given a map with a flaw or is slow, and returns the first map that can be
// believed.
func (r *refresher) ask(ctx context.Context, t *topology, addrs []string) (*slots.Map, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(addrs))
	votes := slots.Poll{Use: t.Map, Taught: t.Taught(), Seeds: r.client.seeds, Before: r.anew}
	r.anew = nil
	failed := &cause.Unreachable{}
	stagger := time.NewTimer(0)
	defer stagger.Stop()
	var enough <-chan time.Time
	q := asker{r.client.cfg, r.patience(t), r.lenient(t)}
	asked, pause := 0, mapStagger
	if votes.Before != nil {
		pause = 0 // nobody else has answered the last refresh
	}
	for answered := 0; answered < len(addrs); {
		var more <-chan time.Time
		if asked < len(addrs) {
			more = stagger.C
		}
		select {
		case <-more:
			addr := addrs[asked]
			asked++
			r.client.tasks.Go(func() { answers <- q.located(ctx, q.question(ctx, addr, t.Sure())) })
			stagger.Reset(pause)
		case a := <-answers:
			answered++
			r.count(&votes, a, failed)
			if chosen := votes.Choose(); chosen.Map != nil {
				return chosen.Map, nil
			}
			switch {
			case enough != nil:
			case votes.Use == nil && len(votes.Votes) == 1:
				enough = time.After(seedsWait)
			case votes.Use != nil && votes.Any(slots.Foreign):
				enough, pause = time.After(strangersWait), 0 // all others have as long
			}
			stagger.Reset(0)
		case <-enough:
			votes.Failed += len(addrs) - answered
			answered = len(addrs)
		case <-ctx.Done():
			r.countLast(answers, asked-answered, &votes, failed)
			failed = withRest(failed, addrs, ctx.Err())
			answered = len(addrs)
		}
	}
	if votes.Use != nil && ctx.Err() != nil {
		return nil, failed // an address that was not asked, or not waited for, has not failed to answer
	}
	votes.All, votes.Heard = true, heardNodes(t)
	votes.Stays = votes.Stays || t.Map != nil && t.Map.Single && len(t.Nodes) > 0 && t.Nodes[0].works()
	chosen := votes.Choose()
	if r.anew = chosen.Found; chosen.Map == nil {
		return nil, failed
	}
	return chosen.Map, nil
}

// lenient reports whether an unlisted text counts as a refusal for good, in reply to a question about
// the server's identity. If the map in use has IDs, the servers have answered that question before, so
// the refusal is temporary. At the first contact the client asks strictStarts times.
func (r *refresher) lenient(t *topology) bool {
	return !t.Sure() && (t.Map != nil || r.starts > strictStarts)
}

// count adds an answer to the votes, and to the causes of a failure.
func (r *refresher) count(votes *slots.Poll, a answer, failed *cause.Unreachable) {
	if a.err != nil {
		votes.Failed++
		if withholds(a.err) {
			votes.Withheld++
			votes.Stays = votes.Stays || votes.Use != nil && votes.Use.Single && votes.Use.Claims[0].Addr == a.addr
		}
		failed.Causes = append(failed.Causes, cause.OfAddr{Addr: a.addr, Err: a.err})
		return
	}
	r.took = a.took
	r.logSkips(a.addr, a.told.Skips)
	flaw := votes.Add(a.addr, a.id, a.told)
	if flaw != slots.NoFlaw {
		failed.Causes = append(failed.Causes, cause.OfAddr{Addr: a.addr, Err: &cause.Map{Addr: a.addr, Reason: flaw.String()}})
	}
	r.logFlaw(a.addr, flaw)
}

// countLast counts the answers that are out when the context has ended. Each ends with it, and
// says better than the context what did not answer in time.
func (r *refresher) countLast(answers <-chan answer, out int, votes *slots.Poll, failed *cause.Unreachable) {
	patience := time.NewTimer(lastAnswers)
	defer patience.Stop()
	for ; out > 0; out-- {
		select {
		case a := <-answers:
			r.count(votes, a, failed)
		case <-patience.C:
			return
		}
	}
}

// withholds tells whether a server answered, and may tell its map the next time: it loads
// its data, or is busy, or Config.AddrMap failed for an address in the map.
func withholds(err error) bool {
	text := saidIn(err)
	return errors.As(err, new(untranslated)) || text != "" && fate.Of([]byte(text)).PassesForDial()
}

// logFlaw warns of a server that is none of the cluster's, once until it has
// given a map without a flaw. Refreshes run one at a time.
func (r *refresher) logFlaw(addr string, flaw slots.Flaw) {
	if flaw < slots.Foreign {
		delete(r.strange, addr)
		return
	}
	if r.strange[addr] != flaw && r.client.topology.Load().Map != nil {
		r.strange[addr] = flaw
		r.client.log.Note(guard.MapNotUsed, addr, flaw.String())
	}
}

// A pacer says how soon a refresh may follow the last one. It is a token bucket, from which
// each refresh takes one token.
type pacer struct {
	quick float64 // how many may be quick now
	last  time.Time
}

// after notes a refresh that has ended now and returns the least time until the
// next one that hints may ask for.
func (p *pacer) after(now time.Time) time.Duration {
	p.quick = min(p.quick+now.Sub(p.last).Seconds()/quickEvery.Seconds(), quickRefreshes)
	p.last = now
	if p.quick >= 1 {
		p.quick--
		return quickSpacing + rand.N(refreshJitter)
	}
	p.quick = 0
	return refreshSpacing + rand.N(refreshJitter)
}
