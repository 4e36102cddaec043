package cluster_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
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

// TestLateAddrMapOfARedirect: a call whose redirect AddrMap does not translate ends with its
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
				client, err := c.New(t.Context(), redis.Addrs())
				require.NoError(t, err)
				defer client.Close()
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
