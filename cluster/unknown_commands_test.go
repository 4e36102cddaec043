package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// TestUnknownCommands: a command that the table does not hold goes to the primary of its first
// argument, also if reads go to replicas. Nobody is asked what it is. If it may have run, it is not
// sent again.
func TestUnknownCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var sent []string
		w = newWorld(func(addr string, cmd []string) string {
			sent = append(sent, addr+" "+cmd[0])
			if cmd[0] == "MODULE.LOST" { // its connection breaks before the reply
				w.set(func() { w.dead[addr] = true })
				w.set(func() { delete(w.dead, addr) })
			}
			return one
		})
		w.slots = mapOf(nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.Do(soon(t, time.Second), radix.Cmd(nil, "MODULE.A", "key", "2")))
		require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.Cmd(nil, "MODULE.B", "key")))
		p := pipeline.Config{Replicas: true}.New(client)
		p.Cmd("MODULE.C", "key")
		require.NoError(t, p.Do(soon(t, time.Second)))
		require.ErrorIs(t, client.Do(soon(t, time.Second), radix.Cmd(nil, "MODULE.LOST", "key")), redislanes.ErrUnknownOutcome)
		assert.Equal(t, []string{nodeA + " MODULE.A", nodeA + " MODULE.B", nodeA + " MODULE.C", nodeA + " MODULE.LOST"}, sent)
	})
}
