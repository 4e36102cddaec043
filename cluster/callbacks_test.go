package cluster_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
	"github.com/redislanes/redislanes/redistest/sim"
)

// slowReader is a source of random bytes that takes its time.
type slowReader struct{ wait func(context.Context) }

func (r slowReader) Read(p []byte) (int, error) {
	r.wait(context.Background())
	return len(p), nil
}

// TestLateCallbacks: New ends with its context, or within Dialer.Timeout, if a function of the
// program does not return. The error names the function and says how long New has waited.
func TestLateCallbacks(t *testing.T) {
	fields := map[string]func(c *cluster.Config, wait func(context.Context)){
		"Dialer.Credentials": func(c *cluster.Config, wait func(context.Context)) {
			c.Dialer.Credentials = func(ctx context.Context) (string, string, error) { wait(ctx); return "", "", ctx.Err() }
		},
		"Dialer.NetDial": func(c *cluster.Config, wait func(context.Context)) {
			c.Dialer.NetDial = func(ctx context.Context, _, _ string) (net.Conn, error) { wait(ctx); return nil, ctx.Err() }
		},
		"Config.AddrMap": func(c *cluster.Config, wait func(context.Context)) {
			c.AddrMap = func(addr string) string { wait(context.Background()); return addr }
		},
		"Config.ZoneOf": func(c *cluster.Config, wait func(context.Context)) {
			c.Zone, c.ZoneOf = "a", func(string) string { wait(context.Background()); return "a" }
		},
		"Dialer.TLS": func(c *cluster.Config, wait func(context.Context)) {
			c.Dialer.TLS = &tls.Config{ServerName: "redis", Rand: slowReader{wait}}
		},
	}
	waits := map[string]func(ctx context.Context){
		"it ignores its context": func(context.Context) { time.Sleep(time.Minute) },
		"it heeds its context": func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
		},
	}
	for name, set := range fields {
		for how, wait := range waits {
			for _, limit := range []time.Duration{2 * time.Second, time.Hour} {
				t.Run(name+", "+how+", "+limit.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						redis := sim.Start(t, sim.Config{})
						var c cluster.Config
						c.Dialer.NetDial = redis.Dial
						set(&c, wait)
						ctx, cancel := context.WithTimeout(t.Context(), limit)
						defer cancel()
						began, most := time.Now(), min(limit, 5*time.Second)
						_, err := c.New(ctx, redis.Addrs()[:1])
						require.LessOrEqual(t, time.Since(began), most+300*time.Millisecond)
						require.ErrorIs(t, err, context.DeadlineExceeded)
						require.ErrorContains(t, err, name)
						require.Regexp(t, map[bool]string{true: ` (2|1\.99)`, false: ` (5|4\.99)`}[limit == 2*time.Second], err.Error())
						time.Sleep(time.Hour) // the goroutines that were left behind end
					})
				})
			}
		}
	}
}

// TestLateAddrMapOfARedirect: if AddrMap is slow for a redirect, the call ends at its
// deadline, or when it is cancelled.
func TestLateAddrMapOfARedirect(t *testing.T) {
	for name, action := range map[string]func(key string) radix.Action{
		"a command":             func(key string) radix.Action { return radix.Cmd(nil, "INCR", key) },
		"on its own connection": func(key string) radix.Action { return radix.Cmd(nil, "BLPOP", key, "1") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				redis := sim.Start(t, sim.Config{GossipLag: time.Hour})
				var slow atomic.Bool
				c := cluster.Config{RefreshEvery: -1, AddrMap: func(addr string) string {
					if slow.Load() {
						time.Sleep(time.Minute)
					}
					return addr
				}}
				c.Dialer.NetDial = redis.Dial
				client := open(t, c, redis.Addrs())
				require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k")))
				slow.Store(true)
				owner := redis.Owner("k")
				for _, n := range redis.Nodes() {
					if !n.Replica() && n != owner {
						redis.Move("k", n)
						break
					}
				}
				const limit = 300 * time.Millisecond
				late, stop := context.WithTimeout(t.Context(), limit)
				defer stop()
				left, leave := context.WithCancel(t.Context())
				defer leave()
				began := time.Now()
				require.Error(t, client.Do(late, action("k")))
				require.LessOrEqual(t, time.Since(began), limit+time.Millisecond)
				time.AfterFunc(limit, leave)
				began = time.Now()
				require.Error(t, client.Do(left, action("k")))
				require.LessOrEqual(t, time.Since(began), limit+10*time.Millisecond)
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestAddrMapHangsOnce: an AddrMap that does not return delays a call once, and not for each of the
// addresses to which commands are redirected.
func TestAddrMapHangsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(_ string, cmd []string) string {
			return fmt.Sprintf("-MOVED %d 127.0.0.1:%d\r\n", cluster.Slot(cmd[1]), 8000+cluster.Slot(cmd[1]))
		}, nodeA)
		release := make(chan struct{})
		defer close(release)
		var asked atomic.Int32
		hangs := false
		client := w.open(t, cluster.Config{RefreshEvery: -1, AddrMap: func(addr string) string {
			if hangs {
				asked.Add(1)
				<-release
			}
			return addr
		}})
		synctest.Wait()
		hangs = true
		p := pipeline.New(client)
		for i := range 5 {
			p.IncrBy(keyOf(i, 8), 1)
		}
		began := time.Now()
		require.Error(t, p.Do(soon(t, 100*time.Millisecond)))
		require.LessOrEqual(t, time.Since(began), 101*time.Millisecond)
		synctest.Wait()
		require.LessOrEqual(t, asked.Load(), int32(2), "for one redirect, and for a map")
	})
}

// TestSlowStrategyOfOneNode: a pipeline has commands for two nodes. While the strategy thinks about
// the second node, the commands for the first one are sent, and so are those of other callers.
func TestSlowStrategyOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = time.Second
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		calls := 0
		client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Lanes: 1, Strategy: func(*lanes.Set, int64) int {
			if calls++; calls == 2 {
				time.Sleep(slow)
			}
			return 0
		}}})
		for i := range 2 {
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(i, 2))))
		}
		time.Sleep(time.Minute)
		calls = 0
		done := make(chan error)
		go func() {
			p := pipeline.New(client)
			p.IncrBy(keyOf(0, 2), 1)
			p.IncrBy(keyOf(1, 2), 1) // about which the strategy is asked second
			done <- p.Do(t.Context())
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.Less(t, time.Since(began), slow/2)
		require.NoError(t, <-done)
	})
}

// TestStrategiesSeeTheSlot: the number of a batch is the slot of its first command
// that has a key, also in later attempts.
func TestStrategiesSeeTheSlot(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	seen := make(chan int64, 100)
	first := redistest.KeysInSlots(3, "first") // one for each node
	client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Strategy: func(s *lanes.Set, key int64) int {
		if !slices.ContainsFunc(first, func(k string) bool { return int64(cluster.Slot(k)) == key }) {
			seen <- key
		}
		return lanes.ByKey(s, key)
	}}}, e.Addrs())
	ctx := within(t, 20*time.Second)
	for _, key := range first {
		// While the lanes are being dialled, two goroutines may ask about a batch that waits, and
		// the later one may do so after the reply.
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", key, "1")))
	}
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "PING")))
	require.Len(t, seen, 1)
	require.EqualValues(t, -1, <-seen)
	keys := redistest.KeysInSlots(6, "seen") // two for each node
	for _, key := range keys {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", key, "1")))
		require.Len(t, seen, 1)
		require.EqualValues(t, cluster.Slot(key), <-seen)
	}
	for _, test := range []struct {
		group cluster.Grouping
		want  []string
	}{
		{cluster.ByNode, []string{keys[0], keys[2], keys[4]}},
		{cluster.BySlot, keys},
	} {
		p := pipeline.Config{Group: test.group}.New(client)
		for _, key := range keys {
			p.IncrBy(key, 1)
			p.Expire(key, time.Hour)
		}
		require.NoError(t, p.Do(ctx))
		require.Len(t, seen, len(test.want))
		for _, key := range test.want {
			require.EqualValues(t, cluster.Slot(key), <-seen)
		}
	}
	slot := cluster.Slot(keys[0])
	e.Move(slot, (e.Owner(slot)+1)%3)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", keys[0], "1")))
	require.Len(t, seen, 2)
	require.EqualValues(t, slot, <-seen)
	require.EqualValues(t, slot, <-seen)
}
