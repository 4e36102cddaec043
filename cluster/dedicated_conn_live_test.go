package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestDedicatedRedirectsReachNoReceiver: a blocking command, or a transaction, whose
// slot is on the move is redirected, also if its receivers take errors for
// values. A transaction behind an ASK has the results of its own commands only.
func TestDedicatedRedirectsReachNoReceiver(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 30*time.Second)
	const tag = "{moving}"
	slot := cluster.Slot(tag)
	from, err := real.Owner(ctx, slot)
	require.NoError(t, err)
	to := real.Nodes()[0]
	if to == from {
		to = real.Nodes()[1]
	}
	open := func() *cluster.Client { return open(t, cluster.Config{RefreshEvery: -1}, real.Addrs()) }
	asked, movedLent, movedShared := open(), open(), open()
	require.NoError(t, asked.Do(ctx, radix.Cmd(nil, "RPUSH", tag+"list", "1", "2", "3", "4", "5", "6", "7", "8")))

	require.NoError(t, real.MigrateSlotStart(ctx, slot, to))
	require.NoError(t, real.MigrateKeys(ctx, slot, to, tag+"list"))
	requireNext(ctx, t, asked, tag)
	transaction := transaction{key: tag + "n"}
	require.NoError(t, asked.Do(ctx, &transaction))
	require.Equal(t, []int64{1, 2}, transaction.results)
	require.NotZero(t, asked.Stats().Ask)

	require.NoError(t, real.MigrateSlotFinish(ctx, slot, to))
	requireNext(ctx, t, movedLent, tag)
	transaction.results = nil
	require.NoError(t, movedShared.Do(ctx, &transaction))
	require.Equal(t, []int64{3, 4}, transaction.results)
	require.NotZero(t, movedLent.Stats().Moved)
}

// requireNext takes two elements off the list by commands that block, with
// receivers to which an error is as good as any other reply: BLPOP, which radix
// knows, and BLMOVE, which it does not.
func requireNext(ctx context.Context, t *testing.T, client *cluster.Client, tag string) {
	var raw, moved resp3.RawMessage
	require.NoError(t, client.Do(ctx, radix.Cmd(&raw, "BLPOP", tag+"list", "0")))
	require.Equal(t, "*2\r\n", string(raw[:min(4, len(raw))]), "%q", raw)
	require.NoError(t, client.Do(ctx, radix.Cmd(&moved, "BLMOVE", tag+"list", tag+"list", "LEFT", "RIGHT", "0")))
	require.Equal(t, "$1\r\n", string(moved[:min(4, len(moved))]), "%q", moved)
}

// A transaction increments its key twice, on a connection of its own. It may be
// performed again.
type transaction struct {
	key     string
	results []int64
}

func (x *transaction) Properties() radix.ActionProperties {
	return radix.ActionProperties{Keys: []string{x.key}, CanRetry: true}
}

func (x *transaction) Perform(ctx context.Context, conn radix.Conn) error {
	var raw resp3.RawMessage
	for _, command := range [][]string{{"WATCH", x.key}, {"MULTI"}, {"INCR", x.key}, {"INCR", x.key}} {
		if err := conn.Do(ctx, radix.Cmd(&raw, command[0], command[1:]...)); err != nil {
			return err
		}
	}
	return conn.Do(ctx, radix.Cmd(&x.results, "EXEC"))
}
