package model_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// A place is servers, a network, and a client of them.
type place struct {
	*testing.T
	*model.Cluster
	net    *simnet.Network
	client *cluster.Client
}

// play runs a test in a bubble.
func play(t *testing.T, options model.Options, test func(p *place)) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{T: t, Cluster: model.New(options), net: simnet.New(1)}
		t.Cleanup(p.net.Close)
		p.GossipLag(100 * time.Millisecond)
		for _, n := range slices.Concat(p.Nodes(), p.Sentinels()) {
			p.net.Listen(n.Addr(), p.Serve(n))
		}
		test(p)
	})
}

// connect makes the client, of one server or, if there are any, of the Sentinels.
func (p *place) connect(dialer lanes.Dialer) {
	config, addrs := cluster.Config{Dialer: dialer, Standalone: true}, []string{p.Nodes()[0].Addr()}
	if len(p.Sentinels()) > 0 {
		config.Standalone, config.RefreshEvery, addrs = false, -1, sentinels
		config.Sentinel = &cluster.Sentinel{Primary: model.SentinelPrimary, Dialer: dialer}
	}
	var err error
	p.client, err = config.New(p.Context(), addrs)
	require.NoError(p, err)
	p.Cleanup(func() { require.NoError(p, p.client.Close()) })
}

// incr counts, and returns how long that took.
func (p *place) incr(within time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(p.Context(), within)
	defer cancel()
	began := time.Now()
	err := p.client.Do(ctx, radix.Cmd(nil, "INCR", "a"))
	return time.Since(began), err
}

// TestDeadNodeBehindMoved: a client that may not ask for the map of the slots remembers
// that a node is dead to which MOVED sends it.
func TestDeadNodeBehindMoved(t *testing.T) {
	play(t, model.Options{Primaries: 3}, func(p *place) {
		p.connect(lanes.Dialer{NetDial: p.net.Dialer("client")})
		owner := p.Owner(model.Slot([]byte("a")))
		require.Same(p, p.Nodes()[2], owner)
		const within = 500 * time.Millisecond
		_, err := p.incr(within)
		require.NoError(p, err)

		heal := p.net.Impose("client", owner.Addr(), simnet.Conditions{Partition: simnet.Both})
		for range 5 { // until it is known
			_, err = p.incr(within)
			require.Error(p, err)
			time.Sleep(time.Second)
		}
		for range 20 {
			took, err := p.incr(within)
			require.ErrorIs(p, err, redislanes.ErrNotSent)
			require.Less(p, took, 10*time.Millisecond)
			time.Sleep(3 * time.Second)
		}
		heal()
		time.Sleep(5 * time.Second)
		_, err = p.incr(within)
		require.NoError(p, err)
	})
}

var (
	sentinels = []string{"10.0.0.101:26379", "10.0.0.102:26379", "10.0.0.103:26379"}
	watched   = model.Options{Primaries: 1, Replicas: 2, NoCluster: true, Sentinels: sentinels}
)

// TestDemotedPrimary: after a failover a client of Sentinels leaves the old primary
// alone, which is a replica.
func TestDemotedPrimary(t *testing.T) {
	play(t, watched, func(p *place) {
		p.connect(lanes.Dialer{NetDial: p.net.Dialer("client")})
		incr := func() {
			_, err := p.incr(5 * time.Second)
			require.NoError(p, err)
		}
		incr()
		for _, primary := range []int{1, 0, 2} {
			require.True(p, p.Failover(p.Nodes()[primary], false))
			time.Sleep(time.Second)
			incr() // finds out
			time.Sleep(time.Minute)
			require.Equal(p, p.Nodes()[primary].Addr(), p.client.Primary(0))
			incr()

			before, dials := p.client.Stats(), p.net.Dials("")
			time.Sleep(time.Hour)
			incr()
			after := p.client.Stats()
			require.Equal(p, before.Refreshes+before.RefreshErrors, after.Refreshes+after.RefreshErrors, "refreshes in an hour")
			require.Equal(p, dials, p.net.Dials(""))
			require.Len(p, after.Nodes, 1)
		}
	})
}

// TestScriptsBehindAFailover: where an address leads to another server from now on, and the old
// server has become a replica and keeps its connections, a program that writes by
// scripts only is not sent to that one for ever: what a script may not write tells as much
// as a command's refusal.
func TestScriptsBehindAFailover(t *testing.T) {
	count := radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	script := func() radix.Action { return count.Cmd(nil, []string{"k"}, "1") }
	for name, action := range map[string]func() radix.Action{
		"shared": script,
		"dedicated": func() radix.Action {
			return radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, script()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, model.Options{Primaries: 1, Replicas: 1, NoCluster: true}, func(p *place) {
				p.connect(lanes.Dialer{NetDial: p.net.Dialer("client")})
				require.NoError(p, p.client.Do(p.Context(), action()))
				time.Sleep(2 * time.Second)

				p.net.Listen(p.Nodes()[0].Addr(), p.Serve(p.Nodes()[1]))
				require.True(p, p.Failover(p.Nodes()[1], false))
				var err error
				for range 3 { // one may be the first to know
					time.Sleep(time.Second)
					err = p.client.Do(p.Context(), action())
				}
				require.NoError(p, err)
			})
		})
	}
}
