package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// healthEvery is how often the health over gRPC is brought up to date.
const healthEvery = 500 * time.Millisecond

// A Source has the statistics of a client; a *cluster.Client is one.
type Source interface{ Stats() redislanes.Stats }

// A Health says whether requests should come here: whether the process is not about to
// stop and, if that matters, all nodes of Redis that it uses can be asked.
type Health struct {
	redis    Source // nil: it does not matter
	grpc     *health.Server
	draining context.Context
	drain    context.CancelFunc
	ended    context.Context // the streams have to end
	end      context.CancelFunc
	services []string // by name; "" stands for all. Set before Run
}

// NewHealth returns the health of a service that uses the client. With nil the service is
// ready whatever becomes of Redis.
func NewHealth(redis Source) *Health {
	h := &Health{redis: redis, grpc: health.NewServer(), services: []string{""}}
	h.draining, h.drain = context.WithCancel(context.Background())
	h.ended, h.end = context.WithCancel(context.Background())
	h.update()
	return h
}

var errStopping = errors.New("the service is about to stop")

// Ready returns why no requests should come, or nil.
func (h *Health) Ready() error {
	if h.draining.Err() != nil {
		return errStopping
	}
	if h.redis == nil {
		return nil
	}
	return trouble(h.redis.Stats())
}

// trouble returns what is wrong with Redis, as far as the client knows. A node without a connection that is not
// down gets one with the next request.
func trouble(s redislanes.Stats) error {
	var errs []error
	if s.Slots < cluster.SlotCount {
		errs = append(errs, fmt.Errorf("redis: %d of %d slots have no node", cluster.SlotCount-s.Slots, cluster.SlotCount))
	}
	for i := range s.Nodes {
		if p := &s.Nodes[i].Pool; p.Down && s.Nodes[i].Role == "primary" { // limits do not use others
			errs = append(errs, fmt.Errorf("redis: node %s is down", p.Addr))
		}
	}
	return errors.Join(errs...)
}

// Drain makes the service not ready, for good.
func (h *Health) Drain() {
	h.drain()
	h.grpc.Shutdown()
}

// Run brings the health over gRPC up to date, until the context ends.
func (h *Health) Run(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.update()
		}
	}
}

func (h *Health) update() {
	serving := grpc_health_v1.HealthCheckResponse_SERVING
	if h.Ready() != nil {
		serving = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	for _, service := range h.services {
		h.grpc.SetServingStatus(service, serving) // has no effect once it is shut down
	}
}

// server returns grpc.health.v1.Health of the services.
func (h *Health) server(services map[string]grpc.ServiceInfo) grpc_health_v1.HealthServer {
	h.services = slices.AppendSeq(h.services, maps.Keys(services))
	h.update()
	return h.grpc
}

// endStreams is a grpc.StreamServerInterceptor. It ends streams when the service stops: a graceful stop
// waits for all calls, and watches of the health, reflection and quotas have no end of their own.
func (h *Health) endStreams(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ended := make(chan error, 1)
	go func() { ended <- handler(server, stream) }() // it ends with the stream
	select {
	case err := <-ended:
		return err
	case <-h.ended.Done():
		return status.Errorf(codes.Unavailable, "%v: connect to another instance", errStopping)
	}
}
