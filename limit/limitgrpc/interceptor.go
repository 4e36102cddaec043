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
		set := func(header metadata.MD) error { return grpc.SetHeader(ctx, header) }
		if err := ask(ctx, l, of(ctx, info, message), set); err != nil {
			return nil, err
		}
		return handler(ctx, message)
	}
}

// Stream is Unary for streams, which are asked about once, when they begin.
func Stream(l *limit.Limiter, of func(ctx context.Context, info *grpc.StreamServerInfo) []limit.Request) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx := stream.Context()
		if err := ask(ctx, l, of(ctx, info), stream.SetHeader); err != nil {
			return err
		}
		return handler(server, stream)
	}
}

func ask(ctx context.Context, l *limit.Limiter, requests []limit.Request, set func(metadata.MD) error) error {
	if len(requests) == 0 {
		return nil
	}
	result := l.Allow(context.WithoutCancel(ctx), requests...)
	policy, state := limithttp.Fields(requests, result)
	_ = set(fields(policy, state)) // it fails only when the header has been sent
	switch {
	case result.Allowed:
		return nil
	case result.Outcome() == "mistaken":
		return status.Error(codes.Internal, "the rate limit cannot be checked")
	case result.Err == nil:
		return deny("rate limit exceeded", result.RetryAfter, set)
	}
	return status.Error(codes.Unavailable, "the rate limit cannot be checked now")
}

// fields returns a header with the fields that are not empty.
func fields(policy, state string) metadata.MD {
	header := metadata.MD{}
	if policy != "" {
		header.Set("ratelimit-policy", policy)
	}
	if state != "" {
		header.Set("ratelimit", state)
	}
	return header
}

// deny returns the error of a call that is denied. The header gets the time after which to try again.
func deny(why string, retry time.Duration, set func(metadata.MD) error) error {
	if retry == limit.Never {
		return status.Error(codes.ResourceExhausted, why)
	}
	_ = set(metadata.Pairs("retry-after", strconv.FormatInt(seconds(retry), 10)))
	return retryIn(why, retry)
}

func retryIn(why string, wait time.Duration) error {
	s := status.New(codes.ResourceExhausted, why)
	if told, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		s = told
	}
	return s.Err()
}

// seconds returns the time in whole seconds, rounded up: a client that comes back
// then does not come too early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
