package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// A parallel action uses its connection on several goroutines. Each gets an error reply.
type parallel struct{ shares bool }

func (p parallel) Properties() radix.ActionProperties {
	return radix.ActionProperties{Keys: []string{"text"}, CanShareConn: p.shares}
}

func (p parallel) Perform(ctx context.Context, conn radix.Conn) error {
	var calls sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		calls.Go(func() {
			command := [...]string{"INCRBY", "LPUSH"}[i%2]
			errs[i] = conn.Do(ctx, radix.Cmd(nil, command, "text", "1"))
		})
	}
	calls.Wait()
	return errs[0]
}

// TestActionsOnSeveralGoroutines: radix lets an action use its connection on several goroutines.
// Under -race nothing of it is unguarded.
func TestActionsOnSeveralGoroutines(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client, _ := tracedClient(t, e.Addrs(), Config{})
	ctx := servers.Within(t, 10*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "text", "text")))
	nodes, err := client.Clients()
	require.NoError(t, err)
	for _, to := range []radix.Client{client, nodes[e.Addrs()[0]].Primary} {
		for _, shares := range []bool{true, false} {
			require.Regexp(t, `^redislanes: (INCRBY|LPUSH) on `+e.Addrs()[0]+`: `, to.Do(ctx, parallel{shares}))
		}
	}
}
