// Package fake is a rate-limit service of a known capacity, for tests.
package fake

import (
	"context"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// A Service answers a fixed number of requests at a time, in a fixed time each. Further requests
// wait.
type Service struct {
	rls.UnimplementedRateLimitServiceServer
	// Code is the answer to all requests.
	Code rls.RateLimitResponse_Code
	// Unlimited makes the answers those of a service that has no limit for requests.
	Unlimited bool
	// Each, if set, is called with the number of each request that is answered.
	Each func(n int)

	workers chan struct{}
	takes   time.Duration
	count   atomic.Int64

	mu   sync.Mutex
	seen map[string]int // how often, by the text of the request
}

// New returns a service that allows all requests.
func New(workers int, takes time.Duration) *Service {
	return &Service{
		Code: rls.RateLimitResponse_OK, workers: make(chan struct{}, workers), takes: takes, seen: make(map[string]int),
	}
}

// Wait is the work of one request, without the network.
func (s *Service) Wait(ctx context.Context) error {
	select {
	case s.workers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(s.takes)
	<-s.workers
	n := s.count.Add(1)
	if s.Each != nil {
		s.Each(int(n))
	}
	return nil
}

// ShouldRateLimit is part of Envoy's protocol.
func (s *Service) ShouldRateLimit(ctx context.Context, q *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	reply := &rls.RateLimitResponse{OverallCode: s.Code}
	text := q.GetDomain()
	for _, d := range q.GetDescriptors() {
		status := &rls.RateLimitResponse_DescriptorStatus{Code: s.Code}
		if !s.Unlimited {
			status.CurrentLimit = &rls.RateLimitResponse_RateLimit{RequestsPerUnit: 1, Unit: rls.RateLimitResponse_RateLimit_DAY}
		}
		reply.Statuses = append(reply.Statuses, status)
		text += " /"
		for _, e := range d.GetEntries() {
			text += " " + e.GetKey() + "=" + e.GetValue()
		}
	}
	s.mu.Lock()
	s.seen[text]++
	s.mu.Unlock()
	return reply, nil
}

// Count returns how many requests were answered.
func (s *Service) Count() int { return int(s.count.Load()) }

// Seen returns how often each request came, by its domain and descriptors, such as
// "shop / user=000001".
func (s *Service) Seen() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// Serve serves it on the loopback address until the test's end and returns where.
func Serve(tb testing.TB, service rls.RateLimitServiceServer) (addr string) {
	tb.Helper()
	server := grpc.NewServer()
	if service != nil {
		rls.RegisterRateLimitServiceServer(server, service)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	tb.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return l.Addr().String()
}
