package service_test

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
)

// TestLive: on a real cluster, a limit that many clients hit at the same time, among
// others on other nodes, allows as many hits as it says; and while a node is down, the
// service says so, and its limits fail open or closed.
func TestLive(t *testing.T) {
	t.Parallel()
	redis := servers.StartCluster(t, servers.Options{})
	w := start(t, redis.Addrs(), options{limit: limit.Config{Budget: 5 * time.Second}})
	var allowed atomic.Int64
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for j := range 20 {
				// The others have their keys on any node.
				res, err := w.service.ShouldRateLimit(t.Context(), request("tenant=acme", "bucket="+strconv.Itoa(i*20+j), "vip="+strconv.Itoa(i)))
				if err != nil {
					t.Error(err)
					return
				}
				if res.GetOverallCode() == ok {
					allowed.Add(1)
				}
			}
		})
	}
	clients.Wait()
	require.LessOrEqual(t, allowed.Load(), int64(100))
	w.until(func() bool { // there may be room for those that were denied by hits that were taken back
		if w.ask(request("tenant=acme")).GetOverallCode() == ok {
			allowed.Add(1)
		}
		return allowed.Load() >= 100
	})
	for range 10 {
		require.Equal(t, over, w.ask(request("tenant=acme")).GetOverallCode())
	}

	code, _, text := w.get(w.url + "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	down := redis.Nodes()[0]
	require.NoError(t, down.Kill())
	failedOpen, failedClosed := false, false
	w.until(func() bool {
		for i := 0; i < 20 && !(failedOpen && failedClosed); i++ { // on all nodes
			user := strconv.Itoa(i)
			res := w.ask(request("vip=" + user))
			failedOpen = failedOpen || res.GetOverallCode() == ok && res.GetStatuses()[0].GetCurrentLimit() == nil
			res = w.ask(request("closed=" + user))
			failedClosed = failedClosed || res.GetOverallCode() == over && res.GetStatuses()[0].GetCurrentLimit() == nil
		}
		code, _, text = w.get(w.url + "/readyz")
		return code == http.StatusServiceUnavailable && failedOpen && failedClosed
	})
	require.Contains(t, text, "redis: ")
	require.Equal(t, notServing, w.health(""))
}
