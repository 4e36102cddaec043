package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// TestEarlierReplyEndsNoOutage: what a node was sent before its outage began,
// and answers after it, does not prove that the outage has ended.
func TestEarlierReplyEndsNoOutage(t *testing.T) {
	for name, early := range map[string]radix.Action{
		"shared": radix.Cmd(nil, "INCR", keyOf(0, 2)), "lent": radix.Cmd(nil, "BLPOP", keyOf(0, 2), "1"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := newWorld(func(string, []string) string {
					if time.Since(began) > 0 {
						return "-LOADING Redis is loading the dataset in memory\r\n"
					}
					time.Sleep(600 * time.Millisecond)
					return one
				}, nodeA, nodeB)
				client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 4}})
				done := make(chan error, 1)
				go func() { done <- client.Do(t.Context(), early) }()
				time.Sleep(50 * time.Millisecond)
				outage := time.Now()
				write := radix.Cmd(nil, "INCR", keyOf(0, 2))
				require.ErrorIs(t, client.Do(soon(t, 100*time.Millisecond), write), redislanes.ErrRefused)
				require.NoError(t, <-done)
				require.ErrorIs(t, client.Do(soon(t, 3*time.Second), write), redislanes.ErrRefused)
				require.InDelta(t, 1, time.Since(outage).Seconds(), 0.1)
			})
		})
	}
}

// TestReadsDoNotHideDedicatedWrites: a write that was lent a connection, and refused
// since the node does not write, has an outage until a write succeeds, also one
// that was lent a connection.
func TestReadsDoNotHideDedicatedWrites(t *testing.T) {
	for _, text := range []string{"NOREPLICAS Not enough good replicas to write.", "READONLY You can't write against a read only replica."} {
		t.Run(text[:strings.Index(text, " ")], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ill := new(atomic.Bool)
				w := newWorld(func(_ string, cmd []string) string {
					if cmd[0] == "BLPOP" && ill.Load() {
						return "-" + text + "\r\n"
					}
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				write := func() (time.Duration, error) {
					began := time.Now()
					err := client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "BLPOP", "k", "1"))
					return time.Since(began), err
				}
				for range 2 {
					ill.Store(true)
					took, err := write()
					require.ErrorIs(t, err, redislanes.ErrRefused)
					require.InDelta(t, 1, took.Seconds(), 0.1)
					for range 3 {
						require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k")))
						require.NoError(t, client.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
							return conn.Do(ctx, radix.Cmd(nil, "GET", "k"))
						})))
						require.NoError(t, client.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
							return conn.Do(ctx, radix.Cmd(nil, "WATCH", "k"))
						})))
						require.NoError(t, client.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
							return conn.Do(ctx, radix.Cmd(nil, "EVAL", "return 1", "1", "k"))
						})))
						require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "EVAL", "return 1", "1", "k")))
						took, _ = write()
						require.Less(t, took, 5*time.Millisecond)
					}
					ill.Store(false)
					_, err = write()
					require.NoError(t, err, "which ends the outage")
				}
			})
		})
	}
}

// TestScriptsDoNotHideWrites: a server that refuses writes runs scripts that only read. A
// script of which nobody knows whether it wrote does not end the outage of writes.
func TestScriptsDoNotHideWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ill := new(atomic.Bool)
		ill.Store(true)
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "INCR" && ill.Load() {
				return "-NOREPLICAS Not enough good replicas to write.\r\n"
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		write := func() (time.Duration, error) {
			began := time.Now()
			err := client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "INCR", "k"))
			return time.Since(began), err
		}
		for range 2 {
			ill.Store(true)
			took, err := write()
			require.ErrorIs(t, err, redislanes.ErrRefused)
			require.InDelta(t, 1, took.Seconds(), 0.1)
			for range 3 {
				for _, script := range []radix.Action{
					radix.Cmd(nil, "EVAL", "return 1", "1", "k"), radix.Cmd(nil, "FCALL", "f", "1", "k"), radix.Cmd(nil, "SPUBLISH", "k", "hello"),
				} {
					require.NoError(t, client.Do(t.Context(), script))
					took, _ = write()
					require.Less(t, took, 5*time.Millisecond)
				}
			}
			ill.Store(false)
			_, err = write()
			require.NoError(t, err, "which ends the outage")
		}
	})
}

// TestRefusedDialDoesNotHideLoading: a server that is loading its data refuses handshakes, so
// that nothing can be lent, and answers ECHO over connections from before. That does not end
// the outage of reads.
func TestRefusedDialDoesNotHideLoading(t *testing.T) {
	const loading = "-LOADING Redis is loading the dataset in memory\r\n"
	synctest.Test(t, func(t *testing.T) {
		ill := new(atomic.Bool)
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "GET" && ill.Load() {
				return loading
			}
			return one
		}, nodeA)
		w.handshake = func(cmd []string) string {
			if cmd[0] == "READWRITE" && ill.Load() {
				return loading
			}
			return ""
		}
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "ECHO", "x")))
		ill.Store(true)
		read := func() time.Duration {
			began := time.Now()
			require.ErrorIs(t, client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "GET", "k")), redislanes.ErrRefused)
			return time.Since(began)
		}
		require.InDelta(t, 1, read().Seconds(), 0.1)
		for range 3 {
			require.ErrorIs(t, client.Do(soon(t, 3*time.Second), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "WATCH", "k"))
			})), redislanes.ErrNotSent)
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "ECHO", "x")))
			require.Less(t, read(), 5*time.Millisecond)
		}
	})
}

// TestWatchDoesNotHideLoading: a server that is loading its data lets keys be watched, which
// does not end the outage of reads.
func TestWatchDoesNotHideLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ill := new(atomic.Bool)
		ill.Store(true)
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "GET" && ill.Load() {
				return "-LOADING Redis is loading the dataset in memory\r\n"
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		read := func() (time.Duration, error) {
			began := time.Now()
			err := client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "GET", "k"))
			return time.Since(began), err
		}
		took, err := read()
		require.ErrorIs(t, err, redislanes.ErrRefused)
		require.InDelta(t, 1, took.Seconds(), 0.1)
		for range 3 {
			require.NoError(t, client.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "WATCH", "k"))
			})))
			took, _ = read()
			require.Less(t, took, 5*time.Millisecond)
		}
		ill.Store(false)
		_, err = read()
		require.NoError(t, err, "which ends the outage")
		ill.Store(true)
		took, _ = read()
		require.InDelta(t, 1, took.Seconds(), 0.1)
	})
}

// TestOutageEndsWhenAllSlotsLeave: a node that gets slots again has a window again. One that
// has kept some of its slots has had its outage all the time.
func TestOutageEndsWhenAllSlotsLeave(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile string // the map
		redirects bool   // MOVED tells of the slots' return, and not the map
		waits     bool   // the next call does, and succeeds
	}{
		"all slots":            {slotMap(nodeB), false, true},
		"all slots, and MOVED": {slotMap(nodeB), true, true},
		"some slots":           {slotMap(nodeA, nodeB), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ill, back := new(atomic.Bool), new(atomic.Bool)
				ill.Store(true)
				w := newWorld(func(addr string, cmd []string) string {
					switch {
					case addr == nodeA && ill.Load():
						return "-LOADING Redis is loading the dataset in memory\r\n"
					case addr == nodeB && back.Load():
						return fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot(cmd[1]), nodeA)
					}
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				write := func() error { return client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "INCR", keyOf(1, 2))) }
				use := func(m string) {
					w.set(func() { w.slots = m })
					require.NoError(t, client.Sync(t.Context()))
				}
				require.ErrorIs(t, write(), redislanes.ErrRefused)
				use(c.meanwhile)
				time.Sleep(40 * time.Second)
				require.NoError(t, write())
				if back.Store(c.redirects); !c.redirects {
					use(slotMap(nodeA))
				}
				time.AfterFunc(100*time.Millisecond, func() { ill.Store(false) })
				if c.waits {
					require.NoError(t, write())
				} else {
					require.ErrorContains(t, write(), "(after 1 try; node "+nodeA+" unavailable for 4")
				}
			})
		})
	}
}
