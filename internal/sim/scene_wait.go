package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// waitScenes are of commands and users that wait, and of servers that make them wait.
func waitScenes() []scene {
	return []scene{
		{
			kind: kind{name: "writers wait", harmless: true, pauses: true, weight: 5, least: 4900 * time.Millisecond, most: 4900 * time.Millisecond},
			fits: func(s *Settings) bool {
				return s.Terms.RoundTrip <= 12*time.Millisecond && s.Terms.Stall >= 2*time.Second
			},
			play: writersWait,
		},
		{
			kind: kind{name: "users wait", idle: true, weight: 3, least: 7 * time.Second, most: 7 * time.Second},
			fits: func(s *Settings) bool { return s.Terms.RoundTrip <= 12*time.Millisecond },
			play: usersWait,
		},
		{
			kind: kind{name: "back from silence", weight: 10, least: 8 * time.Second, most: 8 * time.Second, after: redials},
			fits: func(s *Settings) bool {
				return !s.Unset && s.lanes() == 0 && s.Terms.Grace == 0 && s.Terms.Notice < s.Terms.Stall && s.Dialing != stubborn
			},
			play: backFromSilence,
		},
		{
			kind: kind{name: "a slow OnWait", alone: true, weight: 8, least: 1500 * time.Millisecond, most: 1500 * time.Millisecond, slack: time.Second},
			fits: func(s *Settings) bool {
				return !s.Unset && s.lanes() == 0 && s.Terms.MaxConns <= 10 && !s.Terms.FewCalls
			},
			play: slowOnWait,
		},
		{
			kind: kind{name: "READONLY without end", weight: 3, least: 26 * time.Second, most: 26 * time.Second},
			play: readOnlyWithoutEnd,
		},
	}
}

// writersWait has a node make writers wait, of fast and slow commands.
func writersWait(p *play) {
	n := p.w.primary(p.f)
	n.Pause(p.f.For, false)
	var calls sync.WaitGroup
	for i := range 2 {
		key := p.keyAt(n.Index(), sceneKeys, i)
		calls.Go(func() {
			p.callAs(i, "values", 0, func(a *attempt) {
				ok, value := "", a.value(key)
				a.Commands = []Command{write("SET", key, value)}
				set := radix.Cmd(&ok, "SET", key, value)
				if i == 0 {
					a.perform(set, func() []string { return []string{ok} })
					return
				}
				a.Commands[0] = write("INCRBY", key, "1")
				total := int64(0)
				a.perform(radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], 1)").Cmd(&total, []string{key}), number(&total))
			})
		})
	}
	p.elapse(p.f.For)
	n.Unpause()
	calls.Wait()
}

// usersWait has a user of a connection of its own wait for an element that nobody appends.
func usersWait(p *play) {
	n := p.w.primary(p.f)
	list := p.keyAt(n.Index(), "b"+sceneKeys, 0)
	p.call("await", 0, func(a *attempt) {
		a.Blocks = true
		moved := ""
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(&radix.Maybe{Rcv: &moved}, "BLMOVE", list, list, "LEFT", "RIGHT", "6.5"))
	})
}

// backFromSilence has a node answer again that was silent for so long that it gets no more
// commands. As soon as there is one reply it gets them again.
func backFromSilence(p *play) {
	n := p.w.primary(p.f)
	for round := range 2 {
		p.elapse(time.Duration(round) * p.f.For / 2)
		answered := p.silence(n, 500+round)
		for i := range 8 {
			time.Sleep(3 * time.Millisecond)
			key := p.keyAt(n.Index(), sceneKeys, 10*round+i)
			p.call("command", time.Second, func(a *attempt) {
				a.increment(key, answered)
				// What it was sent over may have lost bytes before, and wait to send them again.
				// So may the dials, if nothing else is left.
				a.Commands[0].Sure = answered && a.Commands[0].Outcome != Unknown && !waitedForDials(a.Commands[0].Err)
			})
		}
	}
}

// waitedForDials reports whether a caller waited in vain for dials where there was no
// connection.
func waitedForDials(err error) bool {
	var wait *cause.Wait
	return errors.As(err, &wait) && wait.Used == 0 && wait.Dialing > 0
}

// silence makes the node silent until that is known, and returns when a call has returned
// that was under way meanwhile, and whether it got its reply then.
func (p *play) silence(n *model.Node, call int) (answered bool) {
	key := p.keyAt(n.Index(), sceneKeys, call)
	end := p.impose(n, simnet.Conditions{Partition: simnet.Both}) // a dial is tried again later
	held := make(chan *Call, 1)
	go func() { held <- p.callAs(call, "command", 0, func(a *attempt) { a.increment(key, false) }) }()
	time.Sleep(p.w.settings.Terms.Notice + 50*time.Millisecond)
	end()
	ended := p.w.rec.now()
	c := <-held
	return c.Err == nil && c.Ended >= ended && c.Ended-ended <= 2*p.w.settings.Terms.RoundTrip
}

// slowOnWait has a caller wait for a connection, and the function that is told of the wait
// take its time. Nobody else may wait: what reads the replies of a connection tells of the
// wait of the next one that is given it.
func slowOnWait(p *play) {
	n := p.w.primary(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	release := make(chan struct{})
	var users sync.WaitGroup
	for i := range p.w.settings.Terms.MaxConns {
		users.Go(func() {
			p.callAs(i, "lent", 0, func(a *attempt) {
				a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(context.Context, radix.Conn) error {
					<-release
					return nil
				}))
			})
		})
	}
	time.Sleep(200*time.Millisecond + 8*p.w.settings.Terms.RoundTrip) // they are dialled by and by
	var only atomic.Bool
	users.Go(func() {
		p.callAs(500, "command", 250*time.Millisecond, func(a *attempt) {
			a.increment(key, false)
			a.Commands[0].Sure = only.Load()
		})
	})
	time.Sleep(20 * time.Millisecond)
	only.Store(p.waiting(n) == 1)
	p.w.user.waits.Store(int64(300 * time.Millisecond))
	close(release)
	time.Sleep(time.Millisecond)
	p.w.user.waits.Store(0)
	users.Wait()
}

// waiting returns how many callers wait for connections to the node.
func (p *play) waiting(n *model.Node) (callers int) {
	for _, s := range p.w.client.Stats().Nodes {
		if s.Pool.Addr == p.w.reached(n) {
			callers += s.Pool.Waiters
		}
	}
	return callers
}

// readOnlyWithoutEnd has a node say that it is a replica, whatever the connection.
func readOnlyWithoutEnd(p *play) {
	n := p.w.primary(p.f)
	n.Flaky(1, model.ReadOnly)
	for i := 0; p.w.rec.now() < p.f.until()-time.Second; i++ {
		p.call("command", 200*time.Millisecond, func(a *attempt) { a.increment(p.keyAt(n.Index(), sceneKeys, i), false) })
		time.Sleep(100 * time.Millisecond)
	}
	n.Flaky(0, "")
}
