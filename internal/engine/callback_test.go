package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/source"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// A rude user gives a client functions that panic while on is set.
type rude struct{ on atomic.Bool }

func (r *rude) panics() {
	if r.on.Load() {
		panic("boom")
	}
}

func (r *rude) trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest:    func(ctx context.Context, _ redislanes.RequestStart) context.Context { r.panics(); return ctx },
		EndRequest:      func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { r.panics() },
		BeginGroup:      func(ctx context.Context, _ redislanes.GroupStart) context.Context { r.panics(); return ctx },
		EndGroup:        func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { r.panics() },
		PoolOpened:      func(*redislanes.PoolInfo) { r.panics() },
		PoolClosed:      func(*redislanes.PoolInfo) { r.panics() },
		Waited:          func(*redislanes.PoolInfo, time.Duration) { r.panics() },
		Dialed:          func(*redislanes.PoolInfo, time.Duration, error) { r.panics() },
		ConnClosed:      func(*redislanes.PoolInfo, string, error) { r.panics() },
		TopologyChanged: func([]string, []string, int) { r.panics() },
	}
}

func (r *rude) mapped(addr string) string { r.panics(); return addr }

func (r *rude) choose(s *lanes.Set, key int64) int {
	r.panics()
	return lanes.FirstFit(s, key)
}

// TestPanickingCallbacks: a function of the user's that panics costs what it was
// called for, at most, and the client works on.
func TestPanickingCallbacks(t *testing.T) {
	server := redistest.StartEmulated(t, 3)
	for name, c := range map[string]struct {
		set  func(*Config, *rude)
		sync string // the error of a refresh
		do   string // the error of a command
	}{
		"Trace": {set: func(c *Config, r *rude) {
			c.Trace, c.Pool = r.trace(), nodepool.Settings{Kind: nodepool.KindFixed, Max: 1}
		}},
		"AddrMap":        {func(c *Config, r *rude) { c.Source = source.Cluster{Nodes: source.Nodes{AddrMap: r.mapped}} }, "Config.AddrMap panicked: boom", ""},
		"Laned.Strategy": {func(c *Config, r *rude) { c.Pool = nodepool.Settings{Strategy: r.choose} }, "", "Laned.Strategy panicked: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(rude)
			cfg := Config{RefreshEvery: -1, RetryWindow: -1}
			c.set(&cfg, r)
			ctx := servers.Within(t, 10*time.Second)
			client := open(t, cfg, server.Addrs())
			try := func(sync, do string) {
				for _, key := range []string{"a", "b", "c", "d"} {
					expect(t, client.do(ctx, "INCR", key), do)
				}
				expect(t, client.Sync(ctx), sync)
			}
			if name != "Trace" { // else the pools are made while it panics
				try("", "")
			}
			r.on.Store(true)
			try(c.sync, c.do)
			require.Equal(t, slots.Count, client.Stats().Slots)
			r.on.Store(false)
			try("", "")
		})
	}
}

func expect(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" {
		require.NoError(t, err)
	} else {
		require.ErrorContains(t, err, text)
	}
}

// TestPanicEndsTheRequest: a panic of the program's function goes on to its caller, and the trace
// is told of the end.
func TestPanicEndsTheRequest(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client, w := tracedClient(t, e.Addrs(), Config{})
	ctx := servers.Within(t, 10*time.Second)
	primaries, _, err := client.Places()
	require.NoError(t, err)
	for name, how := range map[string]How{"the cluster": {}, "a node": {At: primaries[0]}} {
		require.PanicsWithValue(t, "in the program", func() {
			_ = client.WithConn(ctx, slots.NoKey, how, func(*nodepool.Dedicated) error { panic("in the program") })
		}, name)
		info := w.last(t).info
		require.Equal(t, "error", info.Outcome, name)
		require.Equal(t, errActionPanicked, info.Err, name)
		require.Equal(t, e.Addrs()[0], info.Addr, name)
	}
	require.NoError(t, client.WithConn(ctx, slots.NoKey, How{}, func(*nodepool.Dedicated) error { return nil }))
}
