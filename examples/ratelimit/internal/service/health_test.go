package service_test

import (
	"net/http"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pool"
)

const (
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

func (w *world) health(of string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	w.t.Helper()
	res, err := grpc_health_v1.NewHealthClient(w.conn).Check(w.t.Context(), &grpc_health_v1.HealthCheckRequest{Service: of})
	require.NoError(w.t, err)
	return res.GetStatus()
}

// TestNodeDown: the service lives, and is not ready.
func TestNodeDown(t *testing.T) {
	w := start(t, 1, options{
		limit:   limit.Config{Budget: 100 * time.Millisecond},
		cluster: cluster.Config{Pool: pool.Laned{Lanes: 1}},
	})
	w.ask(request("user=1"))
	code, _, text := w.get(w.url + "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	for _, of := range []string{"", pb.RateLimitService_ServiceDesc.ServiceName} {
		require.Equal(t, serving, w.health(of))
	}
	_, err := grpc_health_v1.NewHealthClient(w.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "other"})
	require.Equal(t, codes.NotFound, status.Code(err))
	watch, err := grpc_health_v1.NewHealthClient(w.conn).Watch(t.Context(), new(grpc_health_v1.HealthCheckRequest))
	require.NoError(t, err)
	told, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, serving, told.GetStatus())

	w.redis.Nodes()[0].Close()
	w.until(func() bool {
		w.ask(request("user=1")) // fails open
		code, _, text = w.get(w.url + "/readyz")
		return code == http.StatusServiceUnavailable
	})
	require.Contains(t, text, w.redis.Addrs()[0])
	told, err = watch.Recv()
	require.NoError(t, err)
	require.Equal(t, notServing, told.GetStatus())
	require.Equal(t, notServing, w.health(""))
	code, _, _ = w.get(w.url + "/healthz")
	require.Equal(t, http.StatusOK, code)
}

type stats redislanes.Stats

func (s stats) Stats() redislanes.Stats { return redislanes.Stats(s) }

func TestReady(t *testing.T) {
	node := func(role string, p redislanes.PoolStats) redislanes.NodeStats {
		p.Addr = "10.0.0.1:6379"
		return redislanes.NodeStats{Role: role, Pool: p}
	}
	require.NoError(t, service.NewHealth(nil).Ready(), "Redis does not matter")
	for _, c := range []struct {
		slots int
		node  redislanes.NodeStats
		want  string
	}{
		{cluster.SlotCount, node("primary", redislanes.PoolStats{Open: 1}), ""},
		{cluster.SlotCount, node("replica", redislanes.PoolStats{Down: true}), ""},
		{cluster.SlotCount - 100, node("primary", redislanes.PoolStats{Open: 1}), "redis: 100 of 16384 slots have no node"},
		{cluster.SlotCount, node("primary", redislanes.PoolStats{Open: 1, Down: true}), "redis: node 10.0.0.1:6379 is down"},
		{cluster.SlotCount, node("primary", redislanes.PoolStats{}), ""},
	} {
		err := service.NewHealth(stats{Slots: c.slots, Nodes: []redislanes.NodeStats{c.node}}).Ready()
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}
