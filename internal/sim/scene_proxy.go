package sim

import (
	"context"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// proxyScenes are about servers that change their roles behind one address.
func proxyScenes() []scene {
	return []scene{{
		kind: kind{name: "a failover behind a proxy", moves: true, quiet: true, weight: 12, least: 6 * time.Second, most: 6 * time.Second},
		fits: func(s *Settings) bool { // lanes are there before, and meet the refusal that tells of it
			return s.Proxy && s.Replicas > 0 && s.Terms.Law.Most > 0 && !s.Terms.Law.Exclusive
		},
		play: failoverBehindProxy,
	}}
}

// standIn returns the replica of the node that the proxy leads to; nil: there is none, or
// somebody has just changed the roles.
func (w *world) standIn() *model.Node {
	front := w.nodes[w.front.Load()]
	if !front.Up() || w.model.Primary(front) != nil || !w.turn() {
		return nil
	}
	for _, n := range w.nodes {
		if w.model.Primary(n) == front && n.Up() {
			return n
		}
	}
	return nil
}

// turn reports whether a proxy may lead elsewhere: a client replaces no connection that is
// younger than a second, and all of them once in a while only.
func (w *world) turn() bool {
	const often = 12 * time.Second
	last, now := w.turned.Load(), int64(w.rec.now())
	return now-last >= int64(often) && w.turned.CompareAndSwap(last, now)
}

// failoverBehindProxy has a replica take over, to which the proxy leads from then on, while
// a user keeps a connection: it still leads to the old primary when it is given back, and
// beside it there is one that does not.
func failoverBehindProxy(p *play) {
	n := p.w.standIn()
	if n == nil {
		return
	}
	ctx, giveBack := context.WithCancel(context.Background())
	var keeps sync.WaitGroup
	keeps.Go(func() { _ = p.lent(func(context.Context, radix.Conn) error { <-ctx.Done(); return nil }) })
	p.elapse(1500 * time.Millisecond)
	p.w.model.Failover(n, false)
	p.w.front.Store(int32(n.Index()))
	p.w.listen(n)
	for i := range 4 {
		p.call("push", 2*time.Second, func(a *attempt) { a.pushTo(p.keyAt(n.Index(), "u:", i)) })
		time.Sleep(100 * time.Millisecond)
	}
	well := 0
	for range 3 { // of those that were made right before it, some may lead to the old one
		time.Sleep(1200 * time.Millisecond)
		well = 0
		if p.lent(func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, "SET", "of-a-proxy", "x"))
		}) == nil {
			well = 1
		}
	}
	giveBack()
	keeps.Wait()
	time.Sleep(10 * time.Millisecond)
	p.call(transaction, 2*time.Second, func(a *attempt) {
		a.transaction()
		a.Spare = well
	})
}

// lent performs an action on a connection of its own, of which nobody keeps account.
func (p *play) lent(action func(ctx context.Context, conn radix.Conn) error) error {
	return p.w.client.Do(context.Background(), radix.WithConn("of-a-proxy", action))
}
