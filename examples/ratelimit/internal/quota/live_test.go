package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

const perSecond = 1000

// settled is how long it takes until shares follow what has happened.
const settled = 4 * time.Second

func wait(d time.Duration) time.Time {
	<-time.After(d)
	return time.Now()
}

// steady requires that clients with twice the limit use at least 98 % of it from now on, and never more.
func steady(t *testing.T, clients []*client, what string) {
	t.Helper()
	from := time.Now()
	wait(2 * time.Second)
	n := in(clients, from, 2*time.Second-2*bin)
	t.Logf("%s: %d hits, %.2f %% of the limit", what, n, float64(n)/(perSecond*1.98)*100)
	require.GreaterOrEqual(t, float64(n), 0.98*perSecond*1.98, what)
}

// TestTenClients: ten clients with twice the limit have never more than it in a second, and at least 98 %
// of it when shares have settled: from the start, after a join, and after a crash of a client.
func TestTenClients(t *testing.T) {
	t.Parallel()
	redis := servers.StartCluster(t, servers.Options{})
	i := start(t, redis.Addrs())
	began := time.Now()
	id := map[string]string{"tenant": "acme"}
	var clients []*client
	for range 10 {
		clients = append(clients, follow(t, began, 200, id, i.addr))
	}
	wait(settled)
	steady(t, clients, "ten clients")
	clients = append(clients, follow(t, began, 200, id, i.addr))
	wait(settled)
	steady(t, clients, "one has joined")
	clients[0].stop()
	wait(settled + ttl + delivery)
	steady(t, clients, "one has crashed")
	never(t, clients, perSecond, began, time.Now())
}
