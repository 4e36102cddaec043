package cluster_test

import (
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
)

// TestCrowd: more callers on one key than the default pool has in flight all get their
// replies. It is not parallel: on a slow machine, other tests of this process might wait for seconds.
func TestCrowd(t *testing.T) {
	const callers = 12_000
	server := servers.StartServer(t, servers.Options{})
	// However slow the machine is: the one that reads replies waits for its turn behind all callers.
	client := open(t, cluster.Config{Pool: pool.Laned{Options: pool.Options{StallTimeout: time.Minute}}}, server.Addrs())
	ctx := t.Context()
	var all sync.WaitGroup
	start := make(chan struct{})
	for range callers {
		all.Go(func() {
			<-start
			assert.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")))
		})
	}
	close(start)
	all.Wait()
	total, err := client.Cmd(ctx, "GET", "k").Int()
	require.NoError(t, err)
	require.EqualValues(t, callers, total)
}
