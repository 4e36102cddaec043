package cluster_test

import (
	"cmp"
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
		"shared": radix.Cmd(nil, "INCR", keyOf(0, 2)), "dedicated": radix.Cmd(nil, "BLPOP", keyOf(0, 2), "1"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := newWorld(func(string, []string) string {
					if time.Since(began) > 0 {
						return "-" + loading + "\r\n"
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

// An ailing server refuses one command, the probe, while it is ill.
type ailing struct {
	*cluster.Client
	text    string // of the refusal
	probe   []string
	step    string            // of the handshake, which it refuses too
	replies map[string]string // to other commands
	ill     atomic.Bool
}

// open starts the server, which is well, and its client.
func (a *ailing) open(t *testing.T) *ailing {
	refuses := func(cmd, refused string) string {
		if cmd == refused && a.ill.Load() {
			return "-" + a.text + "\r\n"
		}
		return ""
	}
	w := newWorld(func(_ string, cmd []string) string {
		return cmp.Or(refuses(cmd[0], a.probe[0]), a.replies[cmd[0]], one)
	}, nodeA)
	w.handshake = func(cmd []string) string { return refuses(cmd[0], a.step) }
	a.Client = w.open(t, cluster.Config{RefreshEvery: -1})
	return a
}

func (a *ailing) try(t *testing.T) (took time.Duration, err error) {
	return timed(t, a.Client, radix.Cmd(nil, a.probe[0], a.probe[1:]...))
}

// fail begins an outage: the probe is refused at the end of the retry window.
func (a *ailing) fail(t *testing.T) {
	t.Helper()
	a.ill.Store(true)
	took, err := a.try(t)
	require.ErrorIs(t, err, redislanes.ErrRefused)
	require.InDelta(t, 1, took.Seconds(), 0.1)
}

// requireOutage requires that the outage goes on: the probe is refused at once.
func (a *ailing) requireOutage(t *testing.T) {
	t.Helper()
	took, err := a.try(t)
	require.ErrorIs(t, err, redislanes.ErrRefused)
	require.Less(t, took, 5*time.Millisecond)
}

// heal ends the outage.
func (a *ailing) heal(t *testing.T) {
	t.Helper()
	a.ill.Store(false)
	_, err := a.try(t)
	require.NoError(t, err)
}

const (
	noReplicas = "NOREPLICAS Not enough good replicas to write."
	loading    = "LOADING Redis is loading the dataset in memory"
)

// TestReadsDoNotHideWrites: a node that reads and does not write has an outage for writes all the time,
// whatever it says of writes that are wrong.
func TestReadsDoNotHideWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := map[string]string{"SET": "-ERR wrong number of arguments for 'set' command\r\n"}
		a := (&ailing{text: noReplicas, probe: []string{"INCR", "k"}, replies: wrong}).open(t)
		a.fail(t)
		for range 5 {
			require.NoError(t, a.Do(t.Context(), radix.Cmd(nil, "GET", "k")))
			require.NoError(t, a.Do(t.Context(), radix.Cmd(nil, "TIME")))
			a.requireOutage(t)
			require.ErrorContains(t, a.Do(t.Context(), radix.Cmd(nil, "SET", "k")), "wrong number", "it is said before the server looks for replicas")
			a.requireOutage(t)
		}
	})
}

// TestReadsDoNotHideDedicatedWrites: a write on a dedicated connection, refused since the node does not
// write, has an outage until a write succeeds, on a dedicated connection or not.
func TestReadsDoNotHideDedicatedWrites(t *testing.T) {
	for _, text := range []string{noReplicas, "READONLY You can't write against a read only replica."} {
		t.Run(text[:strings.Index(text, " ")], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := (&ailing{text: text, probe: []string{"BLPOP", "k", "1"}}).open(t)
				for range 2 {
					a.fail(t)
					for range 3 {
						for _, other := range []radix.Action{
							radix.Cmd(nil, "GET", "k"), dedicatedCmd("k", "GET", "k"), dedicatedCmd("k", "WATCH", "k"),
							dedicatedCmd("k", "EVAL", "return 1", "1", "k"), radix.Cmd(nil, "EVAL", "return 1", "1", "k"),
						} {
							require.NoError(t, a.Do(t.Context(), other))
						}
						a.requireOutage(t)
					}
					a.heal(t)
				}
			})
		})
	}
}

// TestScriptsDoNotHideWrites: a server that refuses writes runs scripts that only read. A
// script that may or may not have written does not end the outage of writes.
func TestScriptsDoNotHideWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := (&ailing{text: noReplicas, probe: []string{"INCR", "k"}}).open(t)
		for range 2 {
			a.fail(t)
			for range 3 {
				for _, script := range []radix.Action{
					radix.Cmd(nil, "EVAL", "return 1", "1", "k"), radix.Cmd(nil, "FCALL", "f", "1", "k"), radix.Cmd(nil, "SPUBLISH", "k", "hello"),
				} {
					require.NoError(t, a.Do(t.Context(), script))
					a.requireOutage(t)
				}
			}
			a.heal(t)
		}
	})
}

// TestRefusedDialDoesNotHideLoading: a server that is loading its data refuses handshakes, so
// that there is no dedicated connection, and answers ECHO over connections from before. That does not end
// the outage of reads.
func TestRefusedDialDoesNotHideLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := (&ailing{text: loading, probe: []string{"GET", "k"}, step: "CLUSTER"}).open(t)
		require.NoError(t, a.Do(t.Context(), radix.Cmd(nil, "ECHO", "x")))
		a.fail(t)
		for range 3 {
			require.ErrorIs(t, a.Do(soon(t, 3*time.Second), dedicatedCmd("k", "WATCH", "k")), redislanes.ErrNotSent)
			require.NoError(t, a.Do(t.Context(), radix.Cmd(nil, "ECHO", "x")))
			a.requireOutage(t)
		}
	})
}

// TestWatchDoesNotHideLoading: a server that is loading its data lets keys be watched, which
// does not end the outage of reads.
func TestWatchDoesNotHideLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := (&ailing{text: loading, probe: []string{"GET", "k"}}).open(t)
		a.fail(t)
		for range 3 {
			require.NoError(t, a.Do(t.Context(), dedicatedCmd("k", "WATCH", "k")))
			a.requireOutage(t)
		}
		a.heal(t)
		a.fail(t)
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
						return "-" + loading + "\r\n"
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
