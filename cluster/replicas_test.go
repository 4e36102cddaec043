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
	"github.com/redislanes/redislanes/pipeline"
)

// Ways to read from the replicas of a slot.
var reads = map[string]func(ctx context.Context, client *cluster.Client, key string) (string, error){
	"DoSecondary": func(ctx context.Context, client *cluster.Client, key string) (from string, err error) {
		err = client.DoSecondary(ctx, radix.Cmd(&from, "GET", key))
		return from, err
	},
	"dedicated": func(ctx context.Context, client *cluster.Client, key string) (from string, err error) {
		err = client.DoSecondary(ctx, radix.Cmd(&from, "XREAD", "BLOCK", "1", "STREAMS", key, "0"))
		return from, err
	},
	"pipeline": func(ctx context.Context, client *cluster.Client, key string) (string, error) {
		p := pipeline.Config{Replicas: true}.New(client)
		first, second := p.Cmd("GET", key), p.Cmd("GET", key)
		if err := p.Do(ctx); err != nil {
			return "", err
		}
		if one, other := first.Node(), second.Node(); one != other {
			return "", fmt.Errorf("one slot, but read from %s and %s", one, other)
		}
		return first.Text()
	},
}

// TestAnotherReplicaBeforeThePrimary: a replica fails, and each read of its slots goes to
// the other one from the first on, until it is back. The primary is read from where no
// replica is left.
func TestAnotherReplicaBeforeThePrimary(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		for _, state := range []string{"dead", "LOADING", "MASTERDOWN"} {
			t.Run(name+" "+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					refuses := map[string]bool{}
					var w *world
					w = newWorld(func(addr string, cmd []string) string {
						w.mu.Lock()
						defer w.mu.Unlock()
						if refuses[addr] {
							return "-" + state + " not now\r\n"
						}
						return bulk(addr)
					})
					w.slots = mapOf(nodeA, nodeB, nodeC)
					client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
					from := func() string {
						got, err := read(soon(t, 200*time.Millisecond), client, "key")
						require.NoError(t, err)
						return got
					}
					fail := func(addr string, is bool) {
						w.set(func() {
							w.dead[addr], refuses[addr] = is && state == "dead", is && state != "dead"
						})
						time.Sleep(2 * time.Second) // the end of idle connections is noticed
					}
					usual := from()
					require.Contains(t, []string{nodeB, nodeC}, usual)
					other := map[string]string{nodeB: nodeC, nodeC: nodeB}[usual]
					fail(usual, true)
					for range 5 {
						require.Equal(t, other, from())
						time.Sleep(time.Second)
					}
					fail(other, true)
					for range 5 {
						require.Equal(t, nodeA, from())
						time.Sleep(time.Second)
					}
					fail(other, false)
					fail(usual, false)
					time.Sleep(time.Minute)
					for range 5 {
						require.Equal(t, usual, from(), "the same as long as it is up")
					}
				})
			})
		}
	}
}

// TestSilentReplica: once it is suspect, the other replica is asked at once.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(addr string, _ []string) string { return bulk(addr) })
				w.slots = mapOf(nodeA, nodeB, nodeC)
				client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
				usual, err := read(soon(t, time.Second), client, "key")
				require.NoError(t, err)
				w.set(func() { w.silent[usual] = true })
				for range 10 {
					_, _ = read(soon(t, 200*time.Millisecond), client, "key")
				}
				before := client.Stats()
				for range 5 {
					began := time.Now()
					got, err := read(soon(t, 200*time.Millisecond), client, "key")
					require.NoError(t, err)
					require.Contains(t, []string{nodeB, nodeC}, got)
					require.NotEqual(t, usual, got)
					require.Less(t, time.Since(began), 5*time.Millisecond)
				}
				if name != "dedicated" { // a pool's dedicated connections know by themselves that they are down
					require.Equal(t, before.NotSent, client.Stats().NotSent, "it is not tried while it is down")
				}
			})
		})
	}
}

// TestSlowReplicaOfADeadPrimary: a replica that takes most of a call's time is waited for.
func TestSlowReplicaOfADeadPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, _ []string) string {
			time.Sleep(70 * time.Millisecond)
			return bulk(addr)
		}, nodeA)
		w.slots = mapOf(nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		w.set(func() { w.dead[nodeA] = true })
		for range 20 {
			var from string
			require.NoError(t, client.DoSecondary(soon(t, 100*time.Millisecond), radix.Cmd(&from, "GET", "k")))
			require.Equal(t, nodeB, from)
		}
	})
}
