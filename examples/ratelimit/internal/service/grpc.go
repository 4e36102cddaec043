package service

import (
	"context"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
)

// ShouldRateLimit is envoy.service.ratelimit.v3.RateLimitService's.
func (s *Service) ShouldRateLimit(ctx context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	done := s.Metrics.begin()
	var a answer
	var err error
	if n := proto.Size(req); n > s.MaxMessage { // the gRPC server takes larger messages, for reports of quotas
		err = status.Errorf(codes.ResourceExhausted,
			"the request has %d bytes: want at most %d, or a larger -max-message", n, s.MaxMessage)
	} else {
		a, err = s.decide(ctx, req)
	}
	if err != nil {
		done(status.Code(err).String())
		return nil, err
	}
	done(a.response.GetOverallCode().String())
	return a.response, nil
}

const (
	// A peer that has been silent for so long is asked, and has as long again.
	grpcKeepalive        = time.Minute
	grpcKeepaliveTimeout = 20 * time.Second

	// Clients that ask more often than this are cut off.
	grpcLeastKeepalive = 10 * time.Second

	grpcConnectTimeout = 10 * time.Second
	grpcStreams        = 4096 // requests at a time on one connection
	grpcAgeGrace       = time.Minute
)

func newGRPC(s *Service, h *Health, c ServerConfig) *grpc.Server {
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(max(s.MaxMessage, quota.MostReport)),
		grpc.MaxConcurrentStreams(grpcStreams),
		grpc.ConnectionTimeout(grpcConnectTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: grpcKeepalive, Timeout: grpcKeepaliveTimeout,
			MaxConnectionAge: c.MaxConnectionAge, MaxConnectionAgeGrace: grpcAgeGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: grpcLeastKeepalive, PermitWithoutStream: true}),
		grpc.StreamInterceptor(h.endStreams),
		grpc.WaitForHandlers(true),
	)
	pb.RegisterRateLimitServiceServer(server, s)
	if s.Quota != nil {
		rlqs.RegisterRateLimitQuotaServiceServer(server, s.Quota)
	}
	grpc_health_v1.RegisterHealthServer(server, h.server(server.GetServiceInfo()))
	reflection.Register(server)
	return server
}

// stopGRPC lets the requests that are running end, until the context does. It
// reports whether all have.
func stopGRPC(ctx context.Context, server *grpc.Server) bool {
	late := context.AfterFunc(ctx, server.Stop)
	server.GracefulStop()
	return late()
}
