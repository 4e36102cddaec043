package cluster_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// circle is a world in which two nodes redirect each command to each other until the time, and its
// client.
func circle(t *testing.T, redirect string, until *time.Time, config cluster.Config) *cluster.Client {
	t.Cleanup(func() { time.Sleep(time.Millisecond) }) // a node may still be about to answer
	w := newWorld(func(addr string, cmd []string) string {
		if cmd[0] == "ASKING" {
			return "+OK\r\n"
		}
		time.Sleep(200 * time.Microsecond)
		if time.Now().Before(*until) {
			other := map[string]string{nodeA: nodeB, nodeB: nodeA}[addr]
			return fmt.Sprintf("-%s %d %s\r\n", redirect, cluster.Slot(cmd[1]), other)
		}
		return one
	}, nodeA, nodeB)
	config.RefreshEvery = -1
	return w.open(t, config)
}

// TestCircleOfRedirects: while a slot moves, its old node may hear of that before the new one.
// Commands that have followed many redirects wait for the end of it, and keep the retry window.
func TestCircleOfRedirects(t *testing.T) {
	key := keyOf(0, 2)
	for name, c := range map[string]struct {
		redirect string
		command  []string
	}{
		"MOVED":              {"MOVED", []string{"INCR", key}},
		"ASK":                {"ASK", []string{"INCR", key}},
		"MOVED of dedicated": {"MOVED", []string{"BLPOP", key, "1"}},
		"ASK of dedicated":   {"ASK", []string{"BLPOP", key, "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var until time.Time
				client := circle(t, c.redirect, &until, cluster.Config{})
				call := func(lasts, left time.Duration) (time.Duration, error) {
					began := time.Now()
					until = began.Add(lasts)
					err := client.Do(soon(t, left), radix.Cmd(nil, c.command[0], c.command[1:]...))
					return time.Since(began), err
				}
				for range 20 {
					took, err := call(5*time.Millisecond, 3*time.Second)
					require.NoError(t, err)
					require.Less(t, took, 30*time.Millisecond, "the first waits are short")
				}
				took, err := call(time.Hour, 3*time.Second)
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.ErrorContains(t, err, c.redirect)
				require.ErrorContains(t, err, fmt.Sprint("slot ", cluster.Slot(key), " unavailable for 1."))
				require.InDelta(t, 1, took.Seconds(), 0.05)
				_, err = call(0, 3*time.Second)
				require.NoError(t, err)
				took, err = call(time.Hour, 100*time.Millisecond)
				require.Error(t, err)
				require.LessOrEqual(t, took, 100*time.Millisecond)
			})
		})
	}
}

// TestRedirectsToEverNewAddresses: what a server makes the client remember and
// run for them must have an end.
func TestRedirectsToEverNewAddresses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	asked, port := false, 1000
	f.slots = func() string {
		if asked {
			return "-ERR not again\r\n"
		}
		asked = true
		return slotMap(f.addr())
	}
	f.answer = func(w io.Writer, _ []string) bool {
		port++
		_, err := fmt.Fprintf(w, "-ASK %s 127.0.0.1:%d\r\n", evilSlot, port%20_000)
		return err == nil
	}
	f.start()
	client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1, Pool: pool.Laned{Lanes: 1}}, []string{f.addr()})
	before := runtime.NumGoroutine()
	p := pipeline.New(client)
	for range 1000 {
		p.Reset()
		p.IncrBy(evilKey, 1)
		requireTyped(t, p.Do(within(t, 10*time.Second)))
	}
	t.Logf("%d nodes, %d goroutines more", len(client.Stats().Nodes), runtime.NumGoroutine()-before)
	require.Less(t, len(client.Stats().Nodes), 300)
}
