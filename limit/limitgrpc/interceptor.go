package limitgrpc

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
)

// Unary returns an interceptor that asks the limiter before it calls the handler. of returns the
// requests of a call, none if it has no limits. A call that is not passed on ends with a code:
//
//   - ResourceExhausted if it is denied, with retry-after in its header, in seconds, and
//     google.rpc.RetryInfo among its details, unless it can never be allowed,
//   - Unavailable if it is denied without Redis: by FailClosed, or by the process's share of the
//     limit (Config.Instances),
//   - Internal if a limit.Request of it cannot be used.
//
// The response's header has the fields ratelimit-policy and ratelimit of limithttp.Fields.
// Each of several interceptors adds its own. A hit counts even if the caller has gone.
func Unary(l *limit.Limiter, of func(ctx context.Context, info *grpc.UnaryServerInfo, message any) []limit.Request) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := ask(ctx, l, of(ctx, info, message)); err != nil {
			return nil, err
		}
		return handler(ctx, message)
	}
}

// Stream is Unary for streams, which are asked about once, when they begin.
func Stream(l *limit.Limiter, of func(ctx context.Context, info *grpc.StreamServerInfo) []limit.Request) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if err := ask(stream.Context(), l, of(stream.Context(), info)); err != nil {
			return err
		}
		return handler(server, stream)
	}
}

func ask(ctx context.Context, l *limit.Limiter, requests []limit.Request) error {
	if len(requests) == 0 {
		return nil
	}
	result := l.Allow(context.WithoutCancel(ctx), requests...)
	policy, state := limithttp.Fields(requests, result)
	setFields(ctx, policy, state)
	if result.Allowed {
		return nil
	}
	return denied(ctx, result.Decision, "rate limit exceeded", "the rate limit")
}

// setFields sets the fields that are not empty.
func setFields(ctx context.Context, policy, state string) {
	header := metadata.MD{}
	if policy != "" {
		header.Set("ratelimit-policy", policy)
	}
	if state != "" {
		header.Set("ratelimit", state)
	}
	_ = grpc.SetHeader(ctx, header) // it fails only when the header has been sent
}

// denied returns the error of a call that is not passed on, because of the decision. It says why, or that what
// decides cannot be checked.
func denied(ctx context.Context, d limit.Decision, why, what string) error {
	switch {
	case d.Outcome() == "mistaken":
		return status.Error(codes.Internal, what+" cannot be checked")
	case d.Err != nil:
		return status.Error(codes.Unavailable, what+" cannot be checked now")
	case d.RetryAfter == limit.Never:
		return status.Error(codes.ResourceExhausted, why)
	}
	seconds := (d.RetryAfter + time.Second - 1) / time.Second // rounded up, so that a client does not come back too early
	_ = grpc.SetHeader(ctx, metadata.Pairs("retry-after", strconv.FormatInt(int64(seconds), 10)))
	s := status.New(codes.ResourceExhausted, why)
	if told, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)}); err == nil {
		s = told
	}
	return s.Err()
}
