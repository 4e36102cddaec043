package cluster_test

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestStormOfMovedIsCheap: every slot of a request has moved. The table of the
// slots, 32 KiB, must not be copied for each of them. It is not parallel: it
// measures the memory of the process.
func TestStormOfMovedIsCheap(t *testing.T) {
	const commands = 10_000
	before, now := newFake(t), newFake(t)
	// No refresh helps, nor does it undo what MOVED taught, as it would if both nodes
	// agreed on the old map.
	var opened atomic.Bool
	before.slots = func() string {
		if opened.Load() {
			return "-ERR no map\r\n"
		}
		return slotMap(before.addr())
	}
	now.slots = before.slots
	before.answer = func(w io.Writer, cmd []string) bool {
		_, err := fmt.Fprintf(w, "-MOVED %d %s\r\n", cluster.Slot(cmd[1]), now.addr())
		return err == nil
	}
	before.start()
	now.start()
	client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 1}}, []string{before.addr()})
	opened.Store(true)
	ctx := within(t, 30*time.Second)
	p := pipeline.New(client)
	for i := range commands {
		p.IncrBy(fmt.Sprint("storm", i), 1)
	}
	spent := measure(func() { require.NoError(t, p.Do(ctx)) })
	require.EqualValues(t, commands, client.Stats().Moved)
	t.Logf("%d KiB allocated for %d MOVED", spent.allocated>>10, commands)
	require.Less(t, spent.allocated, int64(64<<20))
}
