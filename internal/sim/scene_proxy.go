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
		kind: kind{name: "a failover behind a proxy", moves: true, weight: 12, least: 2 * time.Second, most: 2 * time.Second},
		fits: func(s *Settings) bool { return s.Proxy && s.Replicas > 0 && s.Terms.MaxConns > 2 },
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
// a user keeps a connection: it still leads to the old primary, when others want one.
func failoverBehindProxy(p *play) {
	n := p.w.standIn()
	if n == nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_ = p.w.client.Do(context.Background(), radix.WithConn("v:", func(context.Context, radix.Conn) error {
			p.elapse(p.f.over() - p.f.At + healing + 100*time.Millisecond)
			return nil
		}))
	})
	p.elapse(1200 * time.Millisecond)
	p.w.model.Failover(n, false)
	p.w.front.Store(int32(n.Index()))
	p.w.listen(n)
	for i := range 4 {
		p.call("push", 2*time.Second, func(a *attempt) { a.pushTo(p.keyAt(n.Index(), "u:", i)) })
		time.Sleep(100 * time.Millisecond)
	}
	wg.Wait()
	for range 2 {
		p.call(transaction, 2*time.Second, (*attempt).transaction)
	}
}
