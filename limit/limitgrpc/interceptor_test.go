package limitgrpc_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limitgrpc"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A service is a gRPC server whose calls are limited, and a client of it.
type service struct {
	healthpb.HealthClient
	emulated *redistest.Emulated
	requests []limit.Request // of each call
	limiter  *limit.Limiter
}

func start(t *testing.T, rules ...limit.Rule) *service {
	s := &service{emulated: redistest.StartEmulated(t, 3)}
	client, err := cluster.Config{}.New(t.Context(), s.emulated.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s.limiter, err = limit.Config{Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.limiter.Close()) })
	for _, r := range rules {
		of, err := r.New(s.limiter)
		require.NoError(t, err)
		s.requests = append(s.requests, limit.Request{Limit: of, Key: "user"})
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(limitgrpc.Unary(s.limiter, func(context.Context, *grpc.UnaryServerInfo, any) []limit.Request { return s.requests })),
		grpc.StreamInterceptor(limitgrpc.Stream(s.limiter, func(context.Context, *grpc.StreamServerInfo) []limit.Request { return s.requests })),
	)
	healthpb.RegisterHealthServer(server, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	s.HealthClient = healthpb.NewHealthClient(conn)
	return s
}

// check calls the service, and returns the header of its response.
func (s *service) check(t *testing.T) (metadata.MD, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var header metadata.MD
	_, err := s.Check(ctx, new(healthpb.HealthCheckRequest), grpc.Header(&header))
	return header, err
}

// watch begins a stream, and returns its header and its first message's error.
func (s *service) watch(t *testing.T) (metadata.MD, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err := s.Watch(ctx, new(healthpb.HealthCheckRequest))
	require.NoError(t, err)
	_, failed := stream.Recv()
	header, err := stream.Header()
	require.NoError(t, err)
	return header, failed
}

// A year is the longest window, since a test must not run across the end of one.
const year = 366 * 24 * time.Hour

func TestUnary(t *testing.T) {
	s := start(t, limit.Rule{Name: "two", Quota: 2, Window: year})
	for remaining := range 2 {
		header, err := s.check(t)
		require.NoError(t, err)
		require.Equal(t, []string{`"two";q=2;w=31622400`}, header["ratelimit-policy"])
		require.Contains(t, header["ratelimit"][0], `"two";r=`+string(rune('1'-remaining)))
		require.Empty(t, header["retry-after"])
	}
	header, err := s.check(t)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.NotEmpty(t, header["retry-after"])
	info, ok := status.Convert(err).Details()[0].(*errdetails.RetryInfo)
	require.True(t, ok)
	require.Positive(t, info.RetryDelay.AsDuration())
	require.LessOrEqual(t, info.RetryDelay.AsDuration(), year)
}

func TestStream(t *testing.T) {
	s := start(t, limit.Rule{Name: "one", Quota: 1, Window: year})
	header, err := s.watch(t)
	require.NoError(t, err)
	require.Equal(t, []string{`"one";q=1;w=31622400`}, header["ratelimit-policy"])
	header, err = s.watch(t)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, []string{`"one";q=1;w=31622400`}, header["ratelimit-policy"])
	require.Equal(t, `"one";r=0;t=`+header["retry-after"][0], header["ratelimit"][0])
	require.Len(t, status.Convert(err).Details(), 1)
}

// TestNever: a call that can never be allowed is not told to come back.
func TestNever(t *testing.T) {
	s := start(t, limit.Rule{Name: "none", Quota: 0, Window: time.Hour})
	header, err := s.check(t)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Empty(t, status.Convert(err).Details())
	require.Empty(t, header["retry-after"])
}

// TestMistake: a mistake of the program is nothing that a caller should try again.
func TestMistake(t *testing.T) {
	s := start(t)
	s.requests = []limit.Request{{Key: "user"}}
	_, err := s.check(t)
	require.Equal(t, codes.Internal, status.Code(err))
}

func TestNoLimits(t *testing.T) {
	s := start(t)
	header, err := s.check(t)
	require.NoError(t, err)
	require.Empty(t, header["ratelimit-policy"])
}

// TestWithoutRedis: a limit that fails closed is no reason to say that the caller has
// had too much.
func TestWithoutRedis(t *testing.T) {
	s := start(t, limit.Rule{Name: "closed", Quota: 1, Window: time.Hour, FailClosed: true})
	require.NoError(t, s.limiter.Close())
	_, err := s.check(t)
	require.Equal(t, codes.Unavailable, status.Code(err))
	_, err = s.watch(t)
	require.Equal(t, codes.Unavailable, status.Code(err))
}
