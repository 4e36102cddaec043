package sim

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit"
)

// singleScenes are about one primary without cluster mode, with Sentinels or without, and
// about HTTP in front of a limiter.
func singleScenes() []scene {
	const gossips = 500 * time.Millisecond
	watched := func(s *Settings) bool {
		return s.Sentinels && s.Latency <= 5*time.Millisecond && s.Dialing == wellBehaved
	}
	return []scene{
		{
			kind: kind{name: "new client behind a deaf Sentinel", moves: true, weight: 6, least: time.Second, most: 1500 * time.Millisecond, after: gossips},
			fits: watched, play: newClientOfSentinels,
		},
		{
			kind: kind{name: "two primaries", moves: true, weight: 6, least: 1500 * time.Millisecond, most: 2 * time.Second, after: gossips},
			fits: watched, play: twoPrimaries,
		},
		{
			kind: kind{name: "another server answers sooner", harmless: true, alone: true, weight: 40, least: 2500 * time.Millisecond, most: 3 * time.Second, after: redials},
			fits: func(s *Settings) bool {
				return s.NoCluster && !s.Sentinels && !s.Config.Standalone && s.DeadSeed && s.Dialing != stubborn && s.Latency <= 5*time.Millisecond && s.Config.Dialer.Timeout == 0
			},
			play: soonerServer,
		},
		{
			kind: kind{name: "clients that leave", harmless: true, weight: 3, least: 300 * time.Millisecond, most: 400 * time.Millisecond},
			fits: both(near, func(s *Settings) bool { return s.Dialing != stubborn && s.Terms.Roomy && !s.Terms.FewCalls }), play: leavingClients,
		},
	}
}

// another makes another client with the same settings, without functions of the user's.
func (w *world) another(ctx context.Context) (*cluster.Client, error) {
	c := w.settings.Config
	c.Lazy = false
	c.Dialer.NetDial = w.netDial()
	if w.settings.NAT {
		c.AddrMap = translated
	}
	if w.settings.Password {
		c.Dialer.Credentials = func(context.Context) (string, string, error) { return "", w.token(), nil }
	}
	w.useSentinels(&c)
	return c.New(ctx, w.seeds())
}

// newClientOfSentinels starts a client behind a failover, whose first Sentinel has not heard
// of it. It must not take the replica for the primary.
func newClientOfSentinels(p *play) {
	r := p.w.replica(p.f)
	if r == nil {
		return
	}
	deaf := p.w.model.Sentinels()[0]
	deaf.Deaf(true)
	defer deaf.Deaf(false)
	p.w.model.Failover(r, false)
	p.elapse(400 * time.Millisecond)
	p.call("read of a new client", 2*time.Second, func(a *attempt) {
		a.Sure, a.Own = true, true
		client, err := a.w.another(a.ctx)
		if err != nil {
			a.Err = err
			return
		}
		defer client.Close()
		a.Err = client.Do(a.ctx, radix.Cmd(new(radix.Maybe), "GET", p.keyAt(r.Index(), freshKeys, 0)))
	})
}

// twoPrimaries cuts a primary and a Sentinel off from the others, which go on with another
// one: the epoch of what that Sentinel says is over.
func twoPrimaries(p *play) {
	old, r := p.w.primary(p.f), p.w.replica(p.f)
	if r == nil {
		return
	}
	deaf := p.w.model.Sentinels()[int(p.f.With%3)]
	deaf.Deaf(true)
	old.Deaf(true)
	defer old.Deaf(false) // now it has heard, and is a replica
	defer old.Deaf(false)
	defer deaf.Deaf(false)
	p.w.model.Failover(r, false)
	p.elapse(200 * time.Millisecond)
	for range 8 {
		if p.w.client.Primary(0) == p.w.reached(r) {
			break
		}
		p.call("sync", time.Second, (*attempt).sync)
	}
	wait := p.believing(0, p.f.For-20*time.Millisecond)
	for range 8 {
		p.call("sync", time.Second, (*attempt).sync)
	}
	p.elapse(p.f.For)
	wait()
}

// soonerServer lets another server, with other data, answer at the address of a seed while
// the one in use is slow.
func soonerServer(p *play) {
	const slow = 110 * time.Millisecond
	if !p.alone() {
		return // where the one in use does not answer, the other one is used
	}
	other := model.New(model.Options{Seed: p.f.With, Primaries: 1, NoCluster: true, WithoutNX: p.w.settings.Old, Executed: p.w.elsewhere})
	n := other.Nodes()[0]
	if p.w.settings.Password {
		n.RequirePass("", *p.w.password.Load(), true)
	}
	host := p.w.net.Listen(nobody+"6379", other.Serve(n))
	end := p.impose(p.w.primary(p.f), simnet.Conditions{Latency: slow})
	for i := range 3 {
		p.call("sync", 2*time.Second, (*attempt).sync)
		p.call("write", 10*slow, func(a *attempt) { a.incr(p.keyAt(0, sceneKeys, i)) })
	}
	p.elapse(p.f.For)
	end()
	host.Kill()
}

// elsewhere notes what another server has executed.
func (w *world) elsewhere(e model.Execution) {
	x := Execution{At: w.rec.at(e.At), Node: nobody + "6379", Conn: e.Conn, Text: textOf(e.Args), Reply: plain(e.Reply)}
	w.rec.note(func(h *History) { h.Foreign = append(h.Foreign, x) })
}

// errUncounted is what a call has that was allowed behind others which were not counted.
var errUncounted = errors.New("allowed, though those before it have used up the limit")

// leavingClients asks a handler for as much as it allows, by clients that wait for its
// responses and by others that do not, which are counted all the same.
func leavingClients(p *play) {
	staying := p.call("http", 0, func(a *attempt) { a.Err = p.visits("stays", false) })
	p.call("http", 0, func(a *attempt) {
		a.Sure = staying.Err == nil
		a.Err = p.visits("leaves", true)
	})
}

// doorRule is the limit of these clients.
var doorRule = limit.Rule{Name: "door", Limit: 3, Window: time.Hour, Algorithm: limit.TokenBucket}

// visits sends as many requests as are allowed, and one more by a client that stays. The
// others may have gone before anybody looks at their requests.
func (p *play) visits(who string, leaves bool) error {
	key := p.keyAt(0, who, 0)
	handler := p.w.limiter.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(*http.Request) []limit.Request {
		return []limit.Request{{Limit: p.w.door, Key: key}}
	})
	code := 0
	for i := range doorRule.Limit + 1 {
		ctx, cancel := context.WithCancel(context.Background())
		if leaves && i < doorRule.Limit {
			cancel()
		}
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		code = response.Code
		cancel()
	}
	if code != http.StatusTooManyRequests {
		return errUncounted
	}
	return nil
}
