package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest/sim"
)

// endless makes calls without a deadline against a server that falls silent: it accepts
// connections and bytes, and replies nothing.
type endless struct {
	*cluster.Client
	ctx   context.Context // has no deadline
	redis *sim.Cluster
	owner *sim.Node // of the key k
}

// onConn performs one command on a connection of the call's own, and falls silent before the
// next one.
func (e endless) onConn(client radix.Client, next ...string) error {
	return client.Do(e.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		if err := conn.Do(ctx, radix.Cmd(nil, "INCR", "k")); err != nil {
			return fmt.Errorf("on a healthy server: %w", err)
		}
		e.owner.Freeze()
		return conn.Do(ctx, radix.Cmd(nil, next[0], next[1:]...))
	}))
}

// nodeClient returns the client of the server.
func (e endless) nodeClient() radix.Client {
	sets, _ := e.Clients()
	for addr, set := range sets {
		if addr == e.owner.Addr() {
			return set.Primary
		}
	}
	return nil
}

// silent performs the action once the server is silent.
func (e endless) silent(client radix.Client, action radix.Action) error {
	e.owner.Freeze()
	return client.Do(e.ctx, action)
}

func multiExec() radix.Action {
	p := radix.NewPipeline()
	for _, cmd := range [][]string{{"MULTI"}, {"INCR", "k"}, {"EXEC"}} {
		p.Append(radix.Cmd(nil, cmd[0], cmd[1:]...))
	}
	return p
}

var endlessCalls = map[string]func(e endless) error{
	"Do": func(e endless) error { return e.silent(e, radix.Cmd(nil, "INCR", "k")) },
	"DoSecondary": func(e endless) error {
		for _, n := range e.redis.Nodes() {
			n.Freeze()
		}
		return e.DoSecondary(e.ctx, radix.Cmd(nil, "INCR", "k"))
	},
	"Cmd": func(e endless) error { e.owner.Freeze(); return e.Cmd(e.ctx, "GET", "k").Err() },
	"a script": func(e endless) error {
		return e.silent(e, radix.NewEvalScript("return redis.call('INCR',KEYS[1])").Cmd(nil, []string{"k"}))
	},
	"an unknown command": func(e endless) error { return e.silent(e, radix.Cmd(nil, "FOO.BAR", "k")) },
	"a transaction":      func(e endless) error { return e.silent(e, multiExec()) },
	"WithConn":           func(e endless) error { return e.onConn(e, "INCR", "k") },
	"BLPOP in WithConn":  func(e endless) error { return e.onConn(e, "BLPOP", "list{k}", "1") },
	"WithConn of a node": func(e endless) error { return e.onConn(e.nodeClient(), "INCR", "k") },
	"BLPOP":              func(e endless) error { return e.silent(e, radix.Cmd(nil, "BLPOP", "list{k}", "1")) },
	"XREAD BLOCK": func(e endless) error {
		return e.silent(e, radix.Cmd(nil, "XREAD", "BLOCK", "1000", "STREAMS", "x{k}", "0"))
	},
	"BLPOP of a node": func(e endless) error { return e.silent(e.nodeClient(), radix.Cmd(nil, "BLPOP", "list{k}", "1")) },
	"a node":          func(e endless) error { return e.silent(e.nodeClient(), radix.Cmd(nil, "PING")) },
	"ForEachPrimary": func(e endless) error {
		e.owner.Freeze()
		return e.ForEachPrimary(e.ctx, func(ctx context.Context, node radix.Client) error {
			return node.Do(ctx, radix.Cmd(nil, "PING"))
		})
	},
	"Sync": func(e endless) error {
		for _, n := range e.redis.Nodes() {
			n.Freeze()
		}
		return e.Sync(e.ctx)
	},
}

// TestCallsEndWithoutADeadline: a call whose context has no end ends all the same if its server
// falls silent, on whatever connection it waits: 10 s behind the timeout of its command.
func TestCallsEndWithoutADeadline(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Fixed{Size: 4}, pool.Adaptive{}} {
		for _, standalone := range []bool{false, true} {
			for name, call := range endlessCalls {
				t.Run(fmt.Sprintf("%T, standalone %v, %s", kind, standalone, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						e := newEndless(t, cluster.Config{Pool: kind, Standalone: standalone})
						began := time.Now()
						err := call(e)
						require.LessOrEqual(t, time.Since(began), 12*time.Second)
						require.Error(t, err)
						require.NotContains(t, err.Error(), "healthy")
						require.Contains(t, err.Error(), e.owner.Addr())
					})
				})
			}
		}
	}
}

func newEndless(t *testing.T, c cluster.Config) endless {
	redis := sim.Start(t, sim.Config{})
	c.Dialer = lanes.Dialer{NetDial: redis.Dial}
	addrs := redis.Addrs()
	if c.Standalone {
		addrs = []string{redis.Owner("k").Addr()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	hung := time.AfterFunc(10*time.Minute, cancel) // so that a test of a call that hangs ends
	t.Cleanup(func() { hung.Stop() })
	client, err := c.New(ctx, addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for range 5 { // what is usual of the server
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "k", "1")))
	}
	return endless{client, ctx, redis, redis.Owner("k")}
}

// TestNewEndsWithoutADeadline: so does New if its servers accept connections and are silent.
func TestNewEndsWithoutADeadline(t *testing.T) {
	for name, c := range map[string]cluster.Config{
		"cluster": {}, "standalone": {Standalone: true}, "Sentinel": {Sentinel: sim.SentinelName},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				redis := sim.Start(t, sim.Config{})
				for _, n := range redis.Nodes() {
					n.Freeze()
				}
				c.Dialer = lanes.Dialer{NetDial: redis.Dial}
				c.SentinelDialer = c.Dialer
				began := time.Now()
				_, err := c.New(context.Background(), redis.Addrs())
				require.ErrorContains(t, err, redis.Addrs()[0])
				require.LessOrEqual(t, time.Since(began), 12*time.Second)
			})
		})
	}
}

// TestBlockingWithoutATimeout: a command that blocks without a timeout waits for as long as its
// context lasts, also while the server is silent. What comes then arrives.
func TestBlockingWithoutATimeout(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Fixed{Size: 4}, pool.Adaptive{}} {
		t.Run(fmt.Sprintf("%T", kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEndless(t, cluster.Config{Pool: kind})
				var got []string
				popped := make(chan error, 1)
				go func() { popped <- e.Do(t.Context(), radix.Cmd(&got, "BLPOP", "list{k}", "0")) }()
				time.Sleep(time.Minute)
				e.owner.Freeze()
				require.Error(t, e.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
				time.Sleep(time.Minute)
				e.owner.Heal()
				time.Sleep(10 * time.Second)
				require.NoError(t, e.Do(t.Context(), radix.Cmd(nil, "RPUSH", "list{k}", "x")))
				require.NoError(t, <-popped)
				require.Equal(t, []string{"list{k}", "x"}, got)
			})
		})
	}
}

// TestUsersOfConnectionsTakeTheirTime: a user that holds a connection between two commands,
// or waits for data for longer than 10 s, is not taken for a silent server.
func TestUsersOfConnectionsTakeTheirTime(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Fixed{Size: 4}, pool.Adaptive{}} {
		t.Run(fmt.Sprintf("%T", kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEndless(t, cluster.Config{Pool: kind})
				var popped radix.Maybe
				require.NoError(t, e.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
					if err := conn.Do(ctx, radix.Cmd(nil, "INCR", "k")); err != nil {
						return err
					}
					time.Sleep(time.Hour)
					if err := conn.Do(ctx, radix.Cmd(&popped, "BLPOP", "list{k}", "60")); err != nil {
						return err
					}
					return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
				})))
				require.True(t, popped.Null)
				for _, n := range e.Stats().Nodes {
					require.Zero(t, n.Pool.Closes["stalled"])
				}
			})
		})
	}
}
