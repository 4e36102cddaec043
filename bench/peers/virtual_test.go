package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest/sim"
)

// TestOtherClients: the recipes of docs/testing.md work. Four callers start at once, and go on through faults.
func TestOtherClients(t *testing.T) {
	for name, c := range map[string]struct {
		real    bool // in real time
		servers sim.Config
		connect func(t *testing.T, c *sim.Cluster) (incr func(key string) error)
	}{
		"go-redis": {connect: func(t *testing.T, c *sim.Cluster) func(string) error {
			client := redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: c.Addrs(), Dialer: c.Dial, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			})
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			require.NoError(t, client.Ping(t.Context()).Err())
			return func(key string) error { return client.Incr(t.Context(), key).Err() }
		}},
		"go-redis, Sentinels": {real: true, servers: sim.Config{Sentinels: 3}, connect: func(t *testing.T, c *sim.Cluster) func(string) error {
			client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: sim.SentinelName, SentinelAddrs: c.SentinelAddrs(), Dialer: c.Dial})
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			return func(key string) error { return client.Incr(t.Context(), key).Err() }
		}},
		"rueidis": {connect: func(t *testing.T, c *sim.Cluster) func(string) error {
			client, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: c.Addrs(), DisableCache: true,
				DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
					return c.Dial(ctx, "tcp", addr)
				},
			})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			return func(key string) error { return client.Do(t.Context(), client.B().Incr().Key(key).Build()).Error() }
		}},
		"radix": {real: true, connect: func(t *testing.T, c *sim.Cluster) func(string) error {
			dialer := radix.Dialer{NetDialer: contextDialer(c.Dial)}
			client, err := radix.ClusterConfig{PoolConfig: radix.PoolConfig{Dialer: dialer}}.New(t.Context(), c.Addrs())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			return func(key string) error { return client.Do(t.Context(), radix.Cmd(nil, "INCR", key)) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(t *testing.T) {
				redis := sim.Start(t, c.servers)
				if !c.real {
					t.Cleanup(func() { time.Sleep(2 * time.Second) }) // behind Close
				}
				outlivesTrouble(t, redis, c.connect(t, redis))
			}
			if c.real {
				t.Parallel()
				run(t)
				return
			}
			for c.servers.Seed = range uint64(5) {
				synctest.Test(t, run)
			}
		})
	}
}

type contextDialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (f contextDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

func outlivesTrouble(t *testing.T, c *sim.Cluster, incr func(key string) error) {
	var callers, healthy sync.WaitGroup
	over := make(chan struct{})
	healthy.Add(4)
	for i := range 4 {
		callers.Go(func() {
			for n := range 10 {
				assert.NoError(t, incr(fmt.Sprint("key", i, ".", n)))
			}
			healthy.Done()
			for n := 0; ; n++ {
				_ = incr(fmt.Sprint("key", i, ".", n))
				select {
				case <-over:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	healthy.Wait()
	require.NotEmpty(t, c.Trouble(2*time.Second))
	close(over)
	callers.Wait()
	require.Eventually(t, func() bool { return incr("key") == nil }, 10*time.Second, 10*time.Millisecond)
}
