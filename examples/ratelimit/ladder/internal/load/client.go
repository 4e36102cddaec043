package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// A Client sends requests to a rate-limit service over several connections in
// turn.
type Client struct {
	conns    []*grpc.ClientConn
	services []rls.RateLimitServiceClient
	requests []*rls.RateLimitRequest
	turn     atomic.Uint64
}

// reconnect lets a service that was away be found again soon.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Dial connects to the service at target, host:port, and sends the first of the
// requests over each connection, so that a service that does not answer is an
// error.
func Dial(ctx context.Context, target string, connections int, requests []*rls.RateLimitRequest) (*Client, error) {
	c := &Client{requests: requests}
	for range connections {
		// Retries would hide failures, and cost memory.
		conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithConnectParams(reconnect))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-target %s: %w", target, err), c.Close())
		}
		c.conns = append(c.conns, conn)
		c.services = append(c.services, rls.NewRateLimitServiceClient(conn))
	}
	for range connections {
		if _, err := c.Send(ctx, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("-target %s: the first request failed: %w", target, err), c.Close())
		}
	}
	return c, nil
}

// Send sends the request of a key and reports whether it was denied. A reply that no
// limit has decided is an error.
func (c *Client) Send(ctx context.Context, key int) (denied bool, err error) {
	service := c.services[c.turn.Add(1)%uint64(len(c.services))]
	reply, err := service.ShouldRateLimit(ctx, c.requests[key])
	if err != nil {
		return false, err
	}
	switch code := reply.GetOverallCode(); {
	case code != rls.RateLimitResponse_OK && code != rls.RateLimitResponse_OVER_LIMIT:
		return false, errUndecided
	case slices.ContainsFunc(reply.GetStatuses(), unlimited):
		return false, errNoLimit
	default:
		return code == rls.RateLimitResponse_OVER_LIMIT, nil
	}
}

// unlimited reports whether a descriptor was decided by no limit. A service says so
// where no rule matched, and where it failed open or closed without having asked
// its store: under overload such replies are the quickest.
func unlimited(s *rls.RateLimitResponse_DescriptorStatus) bool {
	return s.GetCode() != rls.RateLimitResponse_UNKNOWN && s.GetCurrentLimit() == nil
}

// Close closes the connections.
func (c *Client) Close() error {
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
