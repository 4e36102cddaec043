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
// The response's header has the fields ratelimit-policy and ratelimit as limit.Limiter.Handler
// sets them. Each of several interceptors adds its own. A hit counts even if the caller has gone.
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
	policy, state := result.Fields(requests)
	return answer(result.Decision, policy, state, set, "the rate limit", "rate limit exceeded")
}

// answer sets the fields that are not empty. It returns the error that a denied call ends with, about a limit
// that is called of.
func answer(d limit.Decision, policy, state string, set func(metadata.MD) error, of, denied string) error {
	header := metadata.MD{}
	if policy != "" {
		header.Set("ratelimit-policy", policy)
	}
	if state != "" {
		header.Set("ratelimit", state)
	}
	retry := !d.Allowed && d.Err == nil && d.RetryAfter != limit.Never
	if retry {
		header.Set("retry-after", strconv.FormatInt(seconds(d.RetryAfter), 10))
	}
	_ = set(header) // it fails only when the header has been sent, which is not ours to mend
	switch {
	case d.Allowed:
		return nil
	case d.Outcome() == limit.Mistaken:
		return status.Error(codes.Internal, of+" cannot be checked")
	case d.Err != nil:
		return status.Error(codes.Unavailable, of+" cannot be checked now")
	case retry:
		return retryIn(denied, d.RetryAfter)
	}
	return status.Error(codes.ResourceExhausted, denied)
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
