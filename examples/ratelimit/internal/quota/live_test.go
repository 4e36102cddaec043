package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

const (
	perSecond = 1000
	measured  = 2 * time.Second

	// over is how long the lease of a crashed instance lasts, at most, and the assignments of a client.
	over = ttl + delivery + ttl/2
)

// TestLimit: on a real cluster, ten clients with twice the limit never have more than it in a
// second, and at least 98 % of it when shares have settled: from the start, after a join, after
// a client has crashed, and after an instance has crashed or stopped.
func TestLimit(t *testing.T) {
	t.Parallel()
	redis := servers.StartCluster(t, servers.Options{}).Addrs()
	stays, crashes, stops := start(t, redis), start(t, redis), start(t, redis)
	began := time.Now()
	join := func(group string, n int, addrs ...string) (clients []*client) {
		for range n {
			clients = append(clients, follow(t, began, 200, map[string]string{"tenant": group}, addrs...))
		}
		return clients
	}
	groups := map[string][]*client{
		"join":           join("join", 10, stays.addr),
		"client crash":   join("client crash", 10, stays.addr),
		"instance crash": join("instance crash", 10, crashes.addr, stays.addr),
		"instance stop":  append(join("instance stop", 7, stops.addr, stays.addr), join("instance stop", 3, stays.addr)...),
	}
	steady(t, groups, "at the start")

	groups["join"] = append(groups["join"], join("join", 1, stays.addr)...)
	dead := groups["client crash"][:1]
	dead[0].stop()
	crashes.crash()
	stops.end()
	<-time.After(over)
	groups["client crash"] = groups["client crash"][1:]
	steady(t, groups, "at the end")
	groups["client crash"] = append(groups["client crash"], dead...)
	for name, clients := range groups {
		never(t, name, clients, began, time.Now())
	}
}

// steady requires that the clients of each group are admitted at least 98 % of the limit, in equal
// shares. While a machine has too little time for the test, it tries again.
func steady(t *testing.T, groups map[string][]*client, when string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		for name, clients := range groups {
			for !settled(clients) && time.Now().Before(end) {
				<-time.After(bin)
			}
			require.True(t, settled(clients), "%s, %s", when, name)
		}
		from := time.Now()
		<-time.After(measured + bin)
		least := 1.0
		for name, clients := range groups {
			part := float64(in(clients, from, measured)) / (perSecond * measured.Seconds())
			t.Logf("%s, %s: %.2f %% of the limit", when, name, 100*part)
			least = min(least, part)
		}
		if least >= 0.98 {
			return
		}
		require.True(t, time.Now().Before(end), "%s: less than 98 %% of the limit", when)
	}
}

// settled reports whether the clients have the limit, in equal shares.
func settled(clients []*client) bool {
	sum := 0.0
	for _, c := range clients {
		rate := c.currentRate()
		if rate < 0.9*perSecond/float64(len(clients)) {
			return false
		}
		sum += rate
	}
	return sum >= 0.982*perSecond
}

// never requires that no second had more admitted hits than the limit.
func never(t *testing.T, name string, clients []*client, from, to time.Time) {
	t.Helper()
	total := 0
	for at := from; at.Before(to); at = at.Add(bin) {
		total += in(clients, at, bin)
		if before := at.Add(-time.Second); !before.Before(from) {
			total -= in(clients, before, bin)
		}
		require.LessOrEqual(t, total, perSecond, name)
	}
}
