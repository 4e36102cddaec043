package cluster_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// Without cluster mode, a command may have keys in several slots. Then all commands of the request that
// have keys keep their order, as those of one slot do elsewhere.

const noCluster = "-ERR This instance has cluster support disabled\r\n"

// TestOrderWithoutSlots: a command that was refused is not sent again behind a later one that has run.
func TestOrderWithoutSlots(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]cluster.Config{"found out": {}, "standalone": {Standalone: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused, ran := false, ""
				w := newWorld(func(_ string, cmd []string) string {
					switch {
					case cmd[0] == "SET" && !refused:
						refused = true
						return "-LOADING not now\r\n"
					case cmd[0] == "SET" || cmd[0] == "MSET":
						ran += strings.Join(cmd, " ") + ";"
					}
					return "+OK\r\n"
				})
				w.slots = noCluster
				p := pipeline.New(w.open(t, config))
				set, mset := p.Cmd("SET", "a", "old"), p.Cmd("MSET", "a", "new", "b", "new")
				require.Error(t, p.Do(soon(t, time.Second)))
				require.NoError(t, mset.Err())
				require.ErrorIs(t, set.Err(), redislanes.ErrRefused)
				require.Equal(t, "MSET a new b new;", ran)
			})
		})
	}
}

// TestSlowWithoutSlots: commands on a slow command's keys travel with it.
func TestSlowWithoutSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := ""
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "SADD" || cmd[0] == "SUNIONSTORE" {
				order += cmd[0] + " "
			}
			return one
		})
		w.slots = noCluster
		client := w.open(t, cluster.Config{})
		p := pipeline.New(client)
		p.Cmd("SADD", "a", "m")
		p.Cmd("SUNIONSTORE", "d", "a", "b")
		require.NoError(t, p.Do(soon(t, time.Second)))
		require.Equal(t, "SADD SUNIONSTORE ", order)
		require.Equal(t, 1, p.Trips())
	})
}

// TestLazyWithoutSlots: a client that does not know yet whether there are slots takes commands with keys
// in several. It refuses them once it knows that there are.
func TestLazyWithoutSlots(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]error{noCluster: nil, slotMap(nodeA): redislanes.ErrCrossSlot} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(string, []string) string { return "+OK\r\n" })
			w.slots, w.dead[nodeA] = said, true
			client, err := cluster.Config{Lazy: true, Dialer: lanes.Dialer{NetDial: w.dial}}.New(t.Context(), []string{nodeA})
			require.NoError(t, err)
			defer client.Close()
			p := pipeline.New(client)
			reply := p.Cmd("MSET", "a", "1", "b", "2")
			require.ErrorIs(t, p.Do(t.Context()), redislanes.ErrNotSent)
			require.NotErrorIs(t, reply.Err(), redislanes.ErrCrossSlot, "nobody knows")

			p.Reset()
			reply = p.Cmd("MSET", "a", "1", "b", "2")
			w.set(func() { w.dead[nodeA] = false })
			time.Sleep(time.Second)
			require.ErrorIs(t, p.Do(t.Context()), want)
			require.ErrorIs(t, reply.Err(), want)
		})
	}
}
